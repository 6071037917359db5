// Packets of a span of a run, as the time-sequence diagram asks for them. The run is done again with its events.
"use strict";
(() => {
  const studio = globalThis.studio;
  const ROWS_MOST = 2_000_000; // Events from the start: some 200 MB.
  const SEGMENT_MOST = 65_535; // Bytes.

  async function packets(run, { flow, from, to }) {
    const begin = { text: run.meta.text, series: ["events"], sets: [["record.series", "[]"], ["record.rows_max", String(ROWS_MOST)]] };
    const found = await studio.core.packets(run.meta.run, begin, { flow, from_s: from, to_s: to });
    if (found.problems || found.wrong) throw new Error(found.wrong ?? found.problems[0].message);
    if (found.end_s !== null && found.end_s < to) throw new Error(`The page has room for the packets up to ${found.end_s.toFixed(3)} s: the studio shows later ones.`);
    return shaped(found, { flow, from, to, lost: run.losses });
  }

  // Rows of each kind, as those of the studio.
  function shaped(found, { flow, from, to, lost }) {
    const again = found.acked.map(([, value], index) => Number(index > 0 && value === found.acked[index - 1][1]));
    const gaps = found.sent.slice(1).map(([, value], index) => value - found.sent[index][1]);
    const usual = common(gaps.filter((gap) => gap >= 1 && gap <= SEGMENT_MOST));
    const near = found.acked[0]?.[1] ?? 0;
    return {
      flow,
      start: from,
      end: to,
      sent: segments(found.sent, usual),
      retransmitted: segments(found.retransmitted, usual),
      acked: found.acked.map(([time, value], index) => [time, value, again[index]]),
      sacked: again.includes(1) ? found.sacked.map(([time, ...ends]) => [time, ...ends.map((end) => nearest(end, near))]) : [],
      lost: lost
        .filter((each) => each.flow === flow && each.time_s >= from && each.time_s <= to && each.data_bytes > 0 && each.offset_bytes !== null)
        .map((each) => [each.time_s, each.offset_bytes, each.offset_bytes + each.data_bytes, each.cause]),
      is_whole: found.is_whole,
    };
  }

  // An event has no length: a segment ends where the next begins, or is of usual size.
  function segments(rows, usual) {
    return rows.map(([time, value], index) => {
      const gap = index + 1 < rows.length ? rows[index + 1][1] - value : 0;
      return [time, value, value + (gap >= 1 && gap <= usual ? gap : usual)];
    });
  }

  // The most frequent value, and the largest of several.
  function common(values) {
    const counts = new Map();
    for (const value of values) counts.set(value, (counts.get(value) ?? 0) + 1);
    const most = Math.max(...counts.values());
    return Math.max(1, ...[...counts].filter(([, count]) => count === most).map(([value]) => value));
  }

  // The full offset of one modulo 2^32 is the one near the ACKs.
  const nearest = (offset, near) => near + ((((offset - near + 2 ** 31) % 2 ** 32) + 2 ** 32) % 2 ** 32) - 2 ** 31;

  studio.captured = { packets };
})();
