#!/bin/sh
# Run the tests of the kernel and of the index, and those of damaged files and random arguments,
# with the kernel built under AddressSanitizer and UndefinedBehaviorSanitizer, in an environment of
# its own.
#
#     scripts/sanitize.sh [pytest arguments]
#
# PYTHON names the interpreter, CXX the compiler (GCC, or a Clang with a shared runtime).
set -eu
cd "$(dirname "$0")/.."

environment=.venv-sanitize
python=$environment/bin/python
[ -x "$python" ] || "${PYTHON:-python3}" -m venv "$environment"
"$python" -m pip install --quiet --editable . \
    --config-settings=cmake.define.PLUGMEM_SANITIZE=ON \
    --config-settings=install.strip=false
"$python" -m pip install --quiet hypothesis pytest pytest-asyncio pytest-socket pytest-timeout

# Python itself is not instrumented, so the runtime has to be there before the kernel is loaded;
# libstdc++ as well, for the runtime to see exceptions being thrown.
compiler=${CXX:-c++}
runtime=$("$compiler" -print-file-name=libasan.so)
if ! [ -e "$runtime" ]; then
    runtime=$("$compiler" -print-file-name="libclang_rt.asan-$(uname -m).so")
fi
LD_PRELOAD="$runtime $("$compiler" -print-file-name=libstdc++.so.6)"
export LD_PRELOAD

# The interpreter frees nothing at exit, so leaks are not looked for; its own allocator would hide
# what is read beyond the end of its objects. hnswlib frees arrays as if they were single objects.
export ASAN_OPTIONS=detect_leaks=0:alloc_dealloc_mismatch=0
export UBSAN_OPTIONS=print_stacktrace=1
export PYTHONMALLOC=malloc

# What the sanitizers print before they end the process must not be captured.
exec "$python" -m pytest -p no:cacheprovider --capture=sys tests/kernels tests/index \
    tests/test_checkpoint.py tests/store/test_damaged_rows.py tests/test_fuzz.py \
    tests/test_fuzz_arguments.py "$@"
