"""Writes of edges: every version is kept, one of a triple is open."""

from plugmem_core.store import stamps
from plugmem_core.store.names import NameWrites
from plugmem_core.store.rows import EdgeRow
from plugmem_core.store.writes import Name


class EdgeWrites(NameWrites):
    """Opens and closes edges."""

    def link(
        self,
        src: Name,
        relation: str,
        dst: Name,
        *,
        namespace: str,
        provenance: int | None,
        valid_from: int | None = None,
        properties: str | None = None,
    ) -> EdgeRow:
        """Open an edge between two entities, making them where needed."""
        space = self.namespace(namespace)
        stamp = stamps.of_link(self.state.next_fact, self.state.next_edge)
        src_id = self.entity(src, space, stamp)
        dst_id = self.entity(dst, space, stamp + 1)
        return self._open_edge(
            (src_id, self._relation(relation, stamp + 2), dst_id),
            space,
            provenance,
            valid_from=valid_from,
            properties=properties,
        )

    def unlink(self, src: int, relation: int, dst: int) -> bool:
        """Close an edge; `False` when none is open."""
        edge = self._open_version((src, relation, dst))
        if edge is None:
            return False
        self._close_edge(edge, self._now)
        return True

    def _open_version(self, triple: tuple[int, int, int]) -> EdgeRow | None:
        if not self._learned.knows_edge(triple):
            rows = self._select_edges(
                "src = ? AND relation = ? AND dst = ? AND valid_to IS NULL", triple
            )
            self._learned.set_open_edge(triple, rows[0] if rows else None)
        return self._learned.open_edge(triple)

    def _open_edge(
        self,
        triple: tuple[int, int, int],
        namespace: int,
        provenance: int | None,
        *,
        valid_from: int | None = None,
        properties: str | None = None,
    ) -> EdgeRow:
        since = self._now if valid_from is None else valid_from
        standing = self._open_version(triple)
        if standing is not None:
            same_start = valid_from is None or standing.valid_from == valid_from
            if (standing.provenance, standing.properties) == (
                provenance,
                properties,
            ) and same_start:
                return standing
            self._close_edge(standing, since)
        edge = EdgeRow(
            id=self.state.next_edge,
            namespace=namespace,
            src=triple[0],
            relation=triple[1],
            dst=triple[2],
            provenance=provenance,
            properties=properties,
            recorded_at=self._now,
            valid_from=since,
            valid_to=None,
            closed_at=None,
            change=self.state.change,
        )
        self._add_edge(edge)
        return edge

    def _add_edge(self, edge: EdgeRow) -> None:
        self._unwritten.put_edge(edge)
        self._learned.put_edge(edge)
        self.state = self.state.after_edge(edge.id)
        self._touched_edges.append(edge)

    def _close_edge(self, edge: EdgeRow, at: int) -> None:
        end = max(at, edge.valid_from)
        closed = edge._replace(valid_to=end, closed_at=self._now, change=self.state.change)
        self._unwritten.close_edge(closed)
        self._learned.put_edge(closed)
        self._touched_edges.append(closed)

    def _repoint(self, edge: EdgeRow, source: int, into: int) -> None:
        moved = edge._replace(
            src=into if edge.src == source else edge.src,
            dst=into if edge.dst == source else edge.dst,
        )
        if moved.valid_to is None:
            twin = self._open_version((moved.src, moved.relation, moved.dst))
            if twin is not None and twin.id != edge.id:
                moved = moved._replace(
                    valid_to=max(self._now, moved.valid_from), closed_at=self._now
                )
        if edge.valid_to is None:
            self._learned.set_open_edge((edge.src, edge.relation, edge.dst), None)
        self._update_edge(moved)

    def _update_edge(self, edge: EdgeRow) -> None:
        edge = edge._replace(change=self.state.change)
        self._sql.execute(
            "UPDATE edges SET src = ?, dst = ?, valid_to = ?, closed_at = ?, change = ? "
            "WHERE id = ?",
            (edge.src, edge.dst, edge.valid_to, edge.closed_at, edge.change, edge.id),
        )
        self._learned.put_edge(edge)
        self._touched_edges.append(edge)
