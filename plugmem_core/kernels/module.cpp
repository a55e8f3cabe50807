// Bindings: Python sees plain values, arrays and the structures below.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <unordered_set>

#include "facts.hpp"
#include "fusion.hpp"
#include "gate.hpp"
#include "graph.hpp"
#include "lexical.hpp"
#include "lists.hpp"
#include "names.hpp"
#include "pool.hpp"
#include "tokenizer.hpp"
#include "turns.hpp"
#include "vectors.hpp"

namespace nb = nanobind;
using namespace nb::literals;
using namespace plugmem;

namespace {

using Floats = nb::ndarray<const float, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Labels = nb::ndarray<const uint64_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Mask = nb::ndarray<const bool, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Released = nb::call_guard<nb::gil_scoped_release>;

std::string_view utf8(nb::handle text) {
    Py_ssize_t size = 0;
    const char* data = PyUnicode_AsUTF8AndSize(text.ptr(), &size);
    if (!data) throw nb::python_error();
    return {data, static_cast<size_t>(size)};
}

nb::str to_str(std::string_view text) { return nb::str(text.data(), text.size()); }

// Facts as named tuples of a type: what their cards show, then the score and the sources of their
// rows. Metadata is read from its text for each of them, since callers may change what they get.
nb::tuple recalled_facts(nb::handle kind, const nb::list& cards, const nb::list& rows, const nb::tuple& sources,
                         nb::handle read_metadata) {
    constexpr Py_ssize_t METADATA = 4, SCORE = 1, SOURCES = 2;
    auto* type = reinterpret_cast<PyTypeObject*>(kind.ptr());
    if (!PyType_Check(kind.ptr()) || !PyType_FastSubclass(type, Py_TPFLAGS_TUPLE_SUBCLASS))
        throw std::invalid_argument("facts are tuples");
    if (cards.size() != rows.size()) throw std::invalid_argument("one card a row");
    nb::tuple facts = nb::steal<nb::tuple>(PyTuple_New(static_cast<Py_ssize_t>(rows.size())));
    for (size_t i = 0; i < rows.size(); ++i) {
        const auto card = nb::cast<nb::tuple>(cards[i]), row = nb::cast<nb::tuple>(rows[i]);
        const auto shown = static_cast<Py_ssize_t>(card.size());
        PyObject* fact = type->tp_alloc(type, shown + 2);
        if (!fact) throw nb::python_error();
        PyTuple_SET_ITEM(facts.ptr(), static_cast<Py_ssize_t>(i), fact);
        for (Py_ssize_t at = 0; at < shown; ++at) {
            nb::object value = nb::borrow(PyTuple_GET_ITEM(card.ptr(), at));
            if (at == METADATA) value = value.is_none() ? nb::object(nb::dict()) : read_metadata(value);
            PyTuple_SET_ITEM(fact, at, value.release().ptr());
        }
        PyTuple_SET_ITEM(fact, shown, nb::object(row[SCORE]).release().ptr());
        const auto which = nb::cast<size_t>(row[SOURCES]);
        PyTuple_SET_ITEM(fact, shown + 1, nb::object(sources[which]).release().ptr());
    }
    return facts;
}

// The bytes of any object with a buffer, held for as long as this lives.
class Buffer {
public:
    explicit Buffer(nb::handle object) {
        if (PyObject_GetBuffer(object.ptr(), &view_, PyBUF_SIMPLE)) throw nb::python_error();
    }
    ~Buffer() { PyBuffer_Release(&view_); }
    Buffer(const Buffer&) = delete;
    Buffer& operator=(const Buffer&) = delete;

    std::string_view bytes() const {
        return {static_cast<const char*>(view_.buf), static_cast<size_t>(view_.len)};
    }

private:
    Py_buffer view_;
};

nb::bytes to_bytes(const std::string& data) { return nb::bytes(data.data(), data.size()); }

template <class T> std::string save_part(const T& part) {
    Writer out;
    part.write(out);
    return out.take();
}

template <class T> void load_part(T& part, std::string_view data) {
    Reader in(data);
    T fresh;
    fresh.read(in);
    in.finish();
    part = std::move(fresh);
}

// Archives are large, and other threads need not wait for them.
template <class Save> nb::bytes saved(Save save) {
    std::string data;
    {
        nb::gil_scoped_release released;
        data = save();
    }
    return to_bytes(data);
}

template <class Load> void loaded(nb::handle data, Load load) {
    const Buffer buffer(data);
    nb::gil_scoped_release released;
    load(buffer.bytes());
}

const float* components(const Floats& values, size_t dim) {
    if (values.shape(0) != dim) throw std::invalid_argument("vector has another dimension");
    return values.data();
}

nb::list tokens_of(nb::str text) {
    nb::list out;
    std::string scratch;
    tokenize_ascii(utf8(text), scratch, [&out](std::string_view token) { out.append(to_str(token)); });
    return out;
}

bool add_text(Lexical& index, Id id, nb::str text) {
    const std::string_view source = utf8(text);
    if (!is_ascii(source)) return false;
    std::vector<Id> terms;
    std::string scratch;
    tokenize_ascii(source, scratch, [&](std::string_view token) {
        terms.push_back(index.intern(token, id));
    });
    index.add(id, terms);
    return true;
}

void add_tokens(Lexical& index, Id id, nb::list tokens) {
    std::vector<Id> terms;
    for (const auto token : tokens) terms.push_back(index.intern(utf8(token), id));
    index.add(id, terms);
}

using Finders = std::vector<const NameFinder*>;

// A text as itself if it is ASCII, else as its tokens, joined by spaces.
std::vector<Passage> read(const Finders& finders, std::string_view text) {
    std::vector<Passage> out;
    for (const auto* finder : finders) out.emplace_back(*finder);
    const auto add = [&out](std::string_view token) {
        for (auto& passage : out) passage.add(token);
    };
    if (is_ascii(text)) {
        std::string scratch;
        tokenize_ascii(text, scratch, add);
    } else {
        for (size_t start = 0, end; start < text.size(); start = end + 1) {
            end = std::min(text.find(' ', start), text.size());
            add(text.substr(start, end - start));
        }
    }
    return out;
}

// The entities that a text names in the visible namespaces, in the order met.
std::vector<Id> names_in(const Finders& finders, nb::str text, nb::object mask) {
    const auto passages = read(finders, utf8(text));
    if (mask.is_none()) return find_names(passages, Masked{{}, true});
    const Buffer visible(mask);
    return find_names(passages, Masked{visible.bytes()});
}

// The entities that each text of a namespace names, but for one, ascending and spelled for its
// row; nothing for none.
std::vector<std::optional<std::string>> mentions_in(const Finders& finders, nb::list given,
                                                    const std::vector<Id>& spaces,
                                                    const std::vector<Id>& but) {
    std::vector<std::string_view> texts;
    for (const auto text : given) texts.push_back(utf8(text));
    if (spaces.size() != texts.size() || but.size() != texts.size())
        throw std::invalid_argument("one namespace and one entity a text");
    const nb::gil_scoped_release released;
    std::vector<std::optional<std::string>> out(texts.size());
    for (size_t i = 0; i < texts.size(); ++i) {
        auto found = find_names(read(finders, texts[i]), OneSpace{spaces[i]});
        found.erase(std::remove(found.begin(), found.end(), but[i]), found.end());
        std::sort(found.begin(), found.end());
        if (!found.empty()) out[i] = spell_ids(found);
    }
    return out;
}

// Take in what the row of a fact says to mention, of the entities below `end`, instead of what it
// said before.
void put_mentions(IdLists& entities, IdLists& facts, Id fact, nb::handle ids, Id end) {
    const auto named = ids.is_none() ? std::vector<Id>() : read_ids(utf8(ids), end);
    const auto before = entities.list(fact);
    if (named == before) return;
    for (const Id entity : before) {
        entities.remove(fact, entity);
        facts.remove(entity, fact);
    }
    for (const Id entity : named) {
        entities.add(fact, entity);
        facts.add(entity, fact);
    }
}

// The ids of the known tokens, in order and with repeats, and their document frequencies.
nb::tuple lookup(const Lexical& index, nb::list tokens) {
    nb::list ids, frequencies;
    for (const auto token : tokens) {
        const Id term = index.find(utf8(token));
        const size_t df = term == NONE ? 0 : index.df(term);
        if (!df) continue;
        ids.append(term);
        frequencies.append(df);
    }
    return nb::make_tuple(ids, frequencies);
}

std::vector<float> overlap(Lexical& index, nb::list tokens, const std::vector<Id>& ids) {
    std::vector<Id> terms;
    std::unordered_set<std::string> unknown;
    for (const auto token : tokens) {
        const std::string_view word = utf8(token);
        const Id term = index.find(word);
        if (term != NONE) terms.push_back(term);
        else unknown.insert(index.stem ? index.stem(word) : std::string(word));
    }
    return index.overlap(std::move(terms), unknown.size(), ids);
}

nb::list ranked_items(const Ranked& list) {
    nb::list out;
    for (size_t i = 0; i < list.ids.size(); ++i)
        out.append(nb::make_tuple(list.ids[i], list.scores[i]));
    return out;
}

Ranked merge(const Ranked& a, const Ranked& b, size_t limit) {
    TopK top(limit);
    for (const auto* list : {&a, &b})
        for (size_t i = 0; i < list->ids.size(); ++i)
            if (top.wants(list->scores[i])) top.offer(list->scores[i], list->ids[i]);
    return top.take();
}

// The two ways through a gate, as context managers.
struct Shared {
    std::shared_ptr<Gate> gate = std::make_shared<Gate>();

    void enter() const {
        if (gate->try_enter()) return;
        nb::gil_scoped_release released;
        gate->enter();
    }
};

struct Alone {
    std::shared_ptr<Gate> gate;

    void enter() const {
        if (gate->try_enter_alone()) return;
        nb::gil_scoped_release released;
        gate->enter_alone();
    }
};

} // namespace

NB_MODULE(_kernels, m) {
    m.attr("INSTRUCTIONS") = INSTRUCTIONS.name;
    m.attr("OPEN") = OPEN;
    m.attr("NO_ID") = NONE;
    m.def("dot_products", [](nb::bytes a, nb::bytes b) {
        if (a.size() != b.size() || a.size() % 64) throw std::invalid_argument("give equal multiples of 64");
        nb::dict out;
        for (const auto& [name, dots] : usable_instructions()) {
            int32_t product = 0;
            dots(reinterpret_cast<const int8_t*>(a.c_str()), reinterpret_cast<const int8_t*>(b.c_str()),
                 1, a.size(), &product);
            out[name] = product;
        }
        return out;
    }, "a"_a, "b"_a);
    m.def("work", [] {
        return nb::make_tuple(work.postings, work.distances, work.edges, work.facts);
    });
    m.def("tokenize_ascii", &tokens_of, "text"_a);

    nb::class_<Alone>(m, "Alone")
        .def("__enter__", &Alone::enter)
        .def("__exit__", [](const Alone& self, nb::args) { self.gate->leave_alone(); });

    nb::class_<Shared>(m, "Gate")
        .def(nb::init<>())
        .def("__enter__", &Shared::enter)
        .def("__exit__", [](const Shared& self, nb::args) { self.gate->leave(); })
        .def_prop_ro("alone", [](const Shared& self) { return Alone{self.gate}; });

    nb::class_<IdSet>(m, "IdSet")
        .def(nb::init<size_t>(), "size"_a)
        .def_static("from_mask", [](Mask mask) {
            auto out = std::make_shared<IdSet>(mask.shape(0));
            for (size_t i = 0; i < mask.shape(0); ++i)
                if (mask.data()[i]) out->add(static_cast<Id>(i));
            return out;
        }, "mask"_a)
        .def("add", &IdSet::add, "id"_a)
        .def("has", &IdSet::has, "id"_a)
        .def("intersect", &IdSet::intersect, "other"_a)
        .def("subtract", &IdSet::subtract, "other"_a)
        .def("complement", &IdSet::complement)
        .def("count", &IdSet::count)
        .def("ids", &IdSet::ids);

    nb::class_<Scope>(m, "Scope")
        .def("__init__", [](Scope* self, Millis valid_at, Millis known_at, Millis expired_by,
                            bool closed, bool unknown_closings) {
            new (self) Scope{valid_at, known_at, expired_by, closed, unknown_closings, {}, nullptr};
        }, "valid_at"_a, "known_at"_a, "expired_by"_a, "closed"_a, "unknown_closings"_a)
        .def("restrict_namespaces", [](Scope& scope, nb::bytes mask) {
            const auto* first = reinterpret_cast<const uint8_t*>(mask.c_str());
            scope.namespaces.assign(first, first + mask.size());
        }, "mask"_a)
        .def("restrict_facts", [](Scope& scope, std::shared_ptr<IdSet> allowed) {
            scope.allowed = std::move(allowed);
        }, "allowed"_a);

    nb::class_<Ranked>(m, "Ranked")
        .def(nb::init<>())
        .def_static("of", [](const std::vector<Id>& ids, const std::vector<float>& scores) {
            if (ids.size() != scores.size()) throw std::invalid_argument("one score an id");
            return Ranked{ids, scores};
        }, "ids"_a, "scores"_a)
        .def("items", &ranked_items)
        .def("merge", &merge, "other"_a, "limit"_a)
        .def("__len__", [](const Ranked& list) { return list.ids.size(); });

    nb::class_<FactTable>(m, "FactTable")
        .def(nb::init<>())
        .def("put", &FactTable::put, "id"_a, "namespace"_a, "entity"_a, "recorded_at"_a,
             "valid_from"_a, "valid_to"_a, "closed_at"_a, "expires_at"_a, "bytes"_a, "forgotten"_a)
        .def("remove", &FactTable::remove, "ids"_a)
        .def("admits", &FactTable::admits, "scope"_a, "id"_a)
        .def("admitted", &FactTable::admitted, "scope"_a, "ids"_a)
        .def("ranked", [](const FactTable& self, const Scope& scope, Labels ids, Floats scores, size_t limit,
                          float floor) {
            if (ids.shape(0) != scores.shape(0)) throw std::invalid_argument("one score an id");
            return self.ranked(scope, ids.data(), scores.data(), ids.shape(0), limit, floor);
        }, "scope"_a, "ids"_a, "scores"_a, "limit"_a, "floor"_a)
        .def("page", &FactTable::page, "scope"_a, "after"_a, "limit"_a, Released())
        .def("newest", &FactTable::newest, "scope"_a, "start"_a, "end"_a, "limit"_a, Released())
        .def("count", &FactTable::count, "scope"_a, Released())
        .def("by_namespace", &FactTable::by_namespace, "scope"_a, Released())
        .def("has", &FactTable::has, "id"_a)
        .def("entity", &FactTable::entity, "id"_a)
        .def("recorded", &FactTable::recorded, "id"_a)
        .def("closed_at", &FactTable::closed_at, "id"_a)
        .def("row", &FactTable::row, "id"_a)
        .def("ids", &FactTable::ids)
        .def("forgotten", &FactTable::forgotten)
        .def("stored", &FactTable::stored)
        .def("__len__", &FactTable::size)
        .def("save", [](const FactTable& self) { return saved([&] { return self.save(); }); })
        .def("load", [](FactTable& self, nb::handle data) { loaded(data, [&](auto bytes) { self.load(bytes); }); },
             "data"_a);

    nb::class_<Dictionary>(m, "Dictionary")
        .def(nb::init<>())
        .def("intern", [](Dictionary& self, nb::str text) { return self.intern(utf8(text)); }, "text"_a)
        .def("find", [](const Dictionary& self, nb::str text) -> nb::object {
            const Id id = self.find(utf8(text));
            return id == NONE ? nb::none() : nb::cast(id);
        }, "text"_a)
        .def("name", [](const Dictionary& self, Id id) { return to_str(self.name(id)); }, "id"_a)
        .def("__len__", &Dictionary::size)
        .def("save", [](const Dictionary& self) { return saved([&] { return save_part(self); }); })
        .def("load", [](Dictionary& self, nb::handle data) { loaded(data, [&](auto bytes) { load_part(self, bytes); }); },
             "data"_a);

    nb::class_<IdLists>(m, "IdLists")
        .def(nb::init<>())
        .def("add", &IdLists::add, "key"_a, "fact"_a)
        .def("remove", &IdLists::remove, "key"_a, "fact"_a)
        .def("remove_facts", &IdLists::remove_facts, "facts"_a)
        .def("list", &IdLists::list, "key"_a)
        .def("last", &IdLists::last, "key"_a, "count"_a, "before"_a)
        .def("count", &IdLists::count, "key"_a, "facts"_a, "scope"_a)
        .def("collect", &IdLists::collect, "key"_a, "into"_a)
        .def("total", &IdLists::total)
        .def("__len__", &IdLists::size)
        .def("save", [](const IdLists& self) { return saved([&] { return save_part(self); }); })
        .def("load", [](IdLists& self, nb::handle data) { loaded(data, [&](auto bytes) { load_part(self, bytes); }); },
             "data"_a);

    nb::class_<NameFinder>(m, "NameFinder")
        .def(nb::init<>())
        .def("add", [](NameFinder& self, nb::str key, Id space, Id entity) {
            self.add(utf8(key), space, entity);
        }, "key"_a, "namespace"_a, "entity"_a)
        .def("__len__", &NameFinder::size);

    m.def("names_in", &names_in, "finders"_a, "text"_a, "mask"_a.none());
    m.def("mentions_in", &mentions_in, "finders"_a, "texts"_a, "namespaces"_a, "but"_a);
    m.def("put_mentions", &put_mentions, "entities"_a, "facts"_a, "fact"_a, "ids"_a.none(), "end"_a);

    nb::class_<Lexical>(m, "Lexical")
        .def("__init__", [](Lexical* self, nb::object stem) {
            new (self) Lexical();
            if (stem.is_none()) return;
            self->stem = [stem](std::string_view word) {
                return std::string(utf8(nb::str(stem(to_str(word)))));
            };
        }, "stem"_a = nb::none())
        .def("add_text", &add_text, "id"_a, "text"_a)
        .def("add_tokens", &add_tokens, "id"_a, "tokens"_a)
        .def("remove", &Lexical::remove, "ids"_a)
        .def("lookup", &lookup, "tokens"_a)
        .def("search", &Lexical::search, "terms"_a, "k1"_a, "b"_a, "limit"_a, "facts"_a, "scope"_a,
             Released())
        .def("scores", &Lexical::scores, "terms"_a, "k1"_a, "b"_a, "ids"_a)
        .def("holds", [](const Lexical& self, const std::vector<Id>& terms, const std::vector<Id>& ids) {
            nb::list out;
            for (const uint8_t held : self.holds(terms, ids)) out.append(nb::bool_(held));
            return out;
        }, "terms"_a, "ids"_a)
        .def("overlap", &overlap, "tokens"_a, "ids"_a)
        .def("alike", [](Lexical& self, const std::vector<Id>& ids, const IdLists& of_entity,
                         const FactTable& facts, const Scope& scope, size_t most, float least) {
            nb::list out;
            for (const auto& one : self.alike(ids, of_entity, facts, scope, most, least))
                out.append(nb::make_tuple(one.id, one.other, one.share));
            return out;
        }, "ids"_a, "of_entity"_a, "facts"_a, "scope"_a, "most"_a, "least"_a)
        .def("terms_of", [](Lexical& self, Id id) {
            nb::list out;
            for (const Id term : self.terms_of(id)) out.append(to_str(self.terms.name(term)));
            return out;
        }, "id"_a)
        .def("has", &Lexical::has, "id"_a)
        .def("documents", &Lexical::documents)
        .def("terms", [](const Lexical& self) {
            size_t used = 0;
            for (Id term = 0; term < self.terms.size(); ++term) used += self.df(term) > 0;
            return used;
        })
        .def("terms_containing", [](const Lexical& self, nb::str part) {
            nb::list out;
            for (const Id term : self.terms.containing(utf8(part)))
                if (self.df(term)) out.append(to_str(self.terms.name(term)));
            return out;
        }, "part"_a)
        .def("next_document", [](const Lexical& self, nb::str token, Id from) -> nb::object {
            const Id id = self.next_document(utf8(token), from);
            return id == NONE ? nb::none() : nb::cast(id);
        }, "token"_a, "from_id"_a)
        .def("save", [](const Lexical& self) { return saved([&] { return self.save(); }); })
        .def("load", [](Lexical& self, nb::handle data) { loaded(data, [&](auto bytes) { self.load(bytes); }); },
             "data"_a);

    nb::class_<Walk>(m, "Walk")
        .def_ro("edges", &Walk::edges)
        .def_ro("nodes", &Walk::nodes)
        .def_ro("weights", &Walk::weights);

    nb::class_<EdgeRows>(m, "EdgeRows")
        .def("ids", [](const EdgeRows& self) { return self.ids; })
        .def("first", &EdgeRows::first, "count"_a)
        .def("items", [](const EdgeRows& self) {
            nb::list out;
            for (size_t i = 0; i < self.ids.size(); ++i) {
                const Edge& edge = self.edges[i];
                out.append(nb::make_tuple(self.ids[i], edge.src, edge.relation, edge.dst, edge.provenance,
                                          edge.recorded, edge.from, edge.to, edge.closed_at));
            }
            return out;
        });

    nb::class_<Graph>(m, "Graph")
        .def(nb::init<>())
        .def("put_relation", &Graph::put_relation, "relation"_a, "rank"_a)
        .def("put", [](Graph& self, Id id, Id src, Id relation, Id dst, Id provenance, Millis recorded_at,
                       Millis valid_from, Millis valid_to, Millis closed_at) {
            self.put(id, Edge{src, dst, relation, provenance, recorded_at, valid_from, valid_to, closed_at});
        }, "id"_a, "src"_a, "relation"_a, "dst"_a, "provenance"_a, "recorded_at"_a, "valid_from"_a,
             "valid_to"_a, "closed_at"_a)
        .def("walk", [](const Graph& self, const std::vector<Id>& anchors, size_t depth, float decay,
                        size_t max_edges, size_t max_nodes, const Scope& scope, bool history) {
            return self.walk(anchors, {depth, max_edges, max_nodes, decay}, scope, history);
        }, "anchors"_a, "depth"_a, "decay"_a, "max_edges"_a, "max_nodes"_a, "scope"_a, "history"_a,
             Released())
        .def("open", &Graph::open)
        .def("row", &Graph::row, "id"_a)
        .def("rows", &Graph::rows, "walk"_a)
        .def("__len__", &Graph::size)
        .def("save", [](const Graph& self) { return saved([&] { return self.save(); }); })
        .def("load", [](Graph& self, nb::handle data) { loaded(data, [&](auto bytes) { self.load(bytes); }); },
             "data"_a);

    m.def("graph_candidates", [](const Graph& graph, const Walk& walk, const IdLists& facts_of,
                                 size_t max_facts, size_t max_examined, size_t limit,
                                 float provenance_weight, const FactTable& facts, const Scope& scope) {
        return graph.candidates(walk, facts_of, {max_facts, max_examined, limit, provenance_weight},
                                facts, scope);
    }, "graph"_a, "walk"_a, "facts_of"_a, "max_facts"_a, "max_examined"_a, "limit"_a,
          "provenance_weight"_a, "facts"_a, "scope"_a, Released());

    nb::class_<VectorPool>(m, "VectorPool")
        .def(nb::init<size_t>(), "dim"_a)
        .def("put", [](VectorPool& self, Id fact, Floats vector) {
            self.put(fact, components(vector, self.dim()));
        }, "fact"_a, "vector"_a)
        .def("holds", [](const VectorPool& self, Id fact, Floats vector) {
            return self.holds(fact, components(vector, self.dim()));
        }, "fact"_a, "vector"_a)
        .def("remove", &VectorPool::remove, "facts"_a, "prefix"_a)
        .def("search", [](const VectorPool& self, Floats query, size_t first, size_t limit, float floor,
                          const FactTable& facts, const Scope& scope) {
            const float* x = components(query, self.dim());
            nb::gil_scoped_release released;
            return self.search(x, first, limit, floor, facts, scope);
        }, "query"_a, "first"_a, "limit"_a, "floor"_a, "facts"_a, "scope"_a)
        .def("rescore", [](const VectorPool& self, Floats query, const std::vector<Id>& chosen,
                           size_t limit, float floor, const FactTable& facts, const Scope& scope) {
            const float* x = components(query, self.dim());
            nb::gil_scoped_release released;
            return self.rescore(x, chosen, limit, floor, facts, scope);
        }, "query"_a, "chosen"_a, "limit"_a, "floor"_a, "facts"_a, "scope"_a)
        .def("has", &VectorPool::has, "fact"_a)
        .def("facts", &VectorPool::facts)
        .def("__len__", &VectorPool::size)
        .def("save", [](const VectorPool& self) { return saved([&] { return self.save(); }); })
        .def("load", [](VectorPool& self, nb::handle data) { loaded(data, [&](auto bytes) { self.load(bytes); }); },
             "data"_a);

    nb::class_<Turns>(m, "Turns")
        .def(nb::init<>())
        .def("put", [](Turns& self, Id fact, Id session, nb::object revised) {
            self.put(fact, session, revised.is_none() ? NONE : nb::cast<Id>(revised));
        }, "fact"_a, "session"_a, "revised"_a.none())
        .def("remove", &Turns::remove, "facts"_a)
        .def("has", &Turns::has, "fact"_a)
        .def("backwards", &Turns::backwards, "session"_a)
        .def("beside", &Turns::beside, "chosen"_a, "facts"_a, "scope"_a)
        .def("__bool__", [](const Turns& self) { return !self.empty(); })
        .def("save", [](const Turns& self) { return saved([&] { return self.save(); }); })
        .def("load", [](Turns& self, nb::handle data) { loaded(data, [&](auto bytes) { self.load(bytes); }); },
             "data"_a);

    nb::class_<Links>(m, "Links")
        .def("__init__", [](Links* self, const std::vector<Id>& facts, const std::vector<float>& weights) {
            if (facts.size() != weights.size()) throw std::invalid_argument("one weight a fact");
            new (self) Links{facts, weights};
        }, "facts"_a, "weights"_a)
        .def_ro("facts", &Links::facts)
        .def_ro("weights", &Links::weights);

    m.def("links_of", &links_of, "fact"_a, "mentions"_a, "mentioned"_a, "about"_a, "most"_a, "facts"_a,
          "scope"_a);

    nb::class_<Pool>(m, "Pool")
        .def(nb::init<size_t, size_t>(), "signals"_a, "lists"_a)
        .def("add", &Pool::add, "ranked"_a, "list"_a)
        .def("bring", &Pool::bring, "ids"_a)
        .def("match", &Pool::match, "lexical"_a, "terms"_a, "k1"_a, "b"_a)
        .def("match_as", &Pool::match_as, "scores"_a)
        .def("name", &Pool::name, "lexical"_a, "terms"_a, "k1"_a, "b"_a, "entity"_a, "facts"_a)
        .def("measure", [](Pool& self, const VectorPool& vectors, Floats query, float floor) {
            self.measure(vectors, components(query, vectors.dim()), floor);
        }, "vectors"_a, "query"_a, "floor"_a)
        .def("fuse", &Pool::fuse, "words"_a, "words_weight"_a, "vector"_a, "vector_weight"_a)
        .def("about", &Pool::about, "signal"_a, "entities"_a, "shares"_a, "points"_a, "facts"_a)
        .def("listed", &Pool::listed, "signal"_a, "list"_a, "points"_a)
        .def("placed", &Pool::placed, "signal"_a, "list"_a, "points"_a, "depth"_a)
        .def("within", &Pool::within, "signal"_a, "start"_a, "end"_a, "after"_a, "points"_a, "facts"_a)
        .def("naming", &Pool::naming, "signal"_a, "lexical"_a, "terms"_a, "points"_a)
        .def("neighbours", &Pool::neighbours, "signal"_a, "turns"_a, "before"_a, "after"_a, "facts"_a, "scope"_a)
        .def("link", &Pool::link, "signal"_a, "seed"_a, "links"_a, "share"_a, "cap"_a)
        .def("rank", &Pool::rank, "boost"_a, "half_life"_a, "now"_a, "facts"_a, nb::keep_alive<0, 5>())
        .def("best", &Pool::best, "count"_a)
        .def("fresh", &Pool::fresh)
        .def("explain", [](const Pool& self, Id id) {
            const size_t row = self.find(id);
            if (row == Pool::MISSING) throw std::invalid_argument("not a candidate");
            nb::list points, places;
            for (size_t signal = 0; signal < self.signals(); ++signal)
                points.append(self.points(signal, row));
            for (size_t list = 0; list < self.lists(); ++list)
                places.append(nb::make_tuple(self.place(list, row), self.raw(list, row)));
            return nb::make_tuple(self.bm25(row), self.cosine(row), points, places);
        }, "id"_a)
        .def("__len__", &Pool::size);

    nb::class_<Fused>(m, "Fused")
        .def("rows", [](const Fused& self, size_t count) {
            nb::list out;
            for (const auto& row : self.rows(count))
                out.append(nb::make_tuple(row.id, row.score, row.sources, row.bytes));
            return out;
        }, "count"_a)
        .def("__len__", [](const Fused& self) { return self.candidates.size(); });

    m.def("recalled_facts", &recalled_facts, "kind"_a, "cards"_a, "rows"_a, "sources"_a, "read_metadata"_a);

    m.def("fuse", [](const std::vector<const Ranked*>& lists, const std::vector<float>& weights, float k,
                     float boost, float half_life, Millis now, const FactTable& facts) {
        if (lists.size() != weights.size()) throw std::invalid_argument("one weight a list");
        return fuse(lists, weights, k, boost, half_life, now, facts);
    }, "lists"_a, "weights"_a, "k"_a, "boost"_a, "half_life"_a, "now"_a, "facts"_a, nb::keep_alive<0, 7>());
}
