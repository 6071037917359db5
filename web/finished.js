// Runs that have ended, as the views of the studio ask for them: facts, series, values and reasons at a moment.
"use strict";
(() => {
  const studio = globalThis.studio;
  const HAPPENINGS_MOST = 3000;
  const BEFORE = 4; // Events and losses before a moment that are told.
  const PATH = { link_rate_bps: ["rate_bps", "bit/s", "Rate of the link: it changes with rain, MODCODs and passes."], link_delay_s: ["delay_s", "s", "Propagation delay of the link."] };
  const COLOURS = ["behind", "green", "blue", "orange", "ink", "soft", "vermilion", "purple"]; // By the number of `limited_by`.
  const ALONG = { route_queue_bytes: ["B", "Waiting bytes in the fullest queue on the route of the flow's data, at each instant."], route_rate_bps: ["bit/s", "Rate of the slowest link on the route of the flow's data."] };
  const TWO_WAY = ["page", "request-response"]; // Their answers are the data, which take the reverse route.
  const empty = { begins: [], values: [], least: [], greatest: [], width: 0, end: 0 };

  // Names of the numbers of `limited_by`, as its meaning lists them.
  const limits = (meaning) => Object.fromEntries([...meaning.matchAll(/(\d+) ([^,:.]+)/g)].map(([, number, name]) => [number, name]));

  const ACCESS = ["asking", "behind", "turn", "sending", "air"]; // Parts of the delay in a medium.

  // Links with several MODCODs, the most first, of one medium.
  function adapted(points, waits) {
    const used = waits.map(({ link, medium }) => [link, medium, new Set(points?.get(link)?.values ?? []).size]).filter(([, , count]) => count > 1);
    used.sort((one, other) => other[2] - one[2] || (one[0] < other[0] ? -1 : 1));
    return used.filter(([, medium]) => medium === used[0][1]).map(([link]) => link);
  }

  class Run {
    // `answer` is that of a whole run; `about` has name, text and command.
    constructor(answer, about, known) {
      this.answer = answer;
      this.about = about;
      this.known = known;
      this.dictionary = known.dictionary;
      this.tables = answer.tables;
      this.duration = this.tables.summary.simulated_s[0];
      this.points = new Map();
      const lives = this.#lives();
      for (const each of this.dictionary.series) {
        const rows = this.tables.series[each.name];
        // After the last row of a series without room, nothing is known.
        const most = this.tables.coverage[each.name]?.end_s ?? this.duration;
        if (rows?.time_s.length && each.name !== "cc_values") this.points.set(each.name, studio.rows.curves(rows, each, (of) => Math.min(most, lives.get(of) ?? most)));
      }
      if (this.points.has("queue_bytes")) this.points.set("route_queue_bytes", this.#alongRoutes(this.points.get("queue_bytes"), Math.max, lives));
      const inMedia = new Set(studio.rows.columns(this.tables.terminals).link);
      const rates = answer.network.links.filter((link) => !inMedia.has(link.link)).map((link) => [link.link, steps(link.rate_bps, this.duration)]);
      this.points.set("route_rate_bps", this.#alongRoutes(new Map(rates), Math.min, lives));
      for (const [name, [key]] of Object.entries(PATH)) {
        const links = answer.network.links.filter((link) => link[key].values.length > 1);
        if (links.length) this.points.set(name, new Map(answer.network.links.map((link) => [link.link, steps(link[key], this.duration)])));
      }
      this.losses = this.tables.series.losses ? studio.rows.rows(this.tables.series.losses) : [];
      this.events = this.tables.series.decisions ? studio.rows.rows(this.tables.series.decisions) : [];
      this.limits = limits(this.dictionary.series.find((each) => each.name === "limited_by").meaning);
      for (const { name } of this.dictionary.causes) {
        const lost = this.losses.filter((each) => each.cause === name);
        if (lost.length) this.points.set(`losses:${name}`, this.#counts(grouped(lost)));
      }
      this.meta = this.#meta();
    }

    // A curve of a flow ends with it.
    #lives() {
      const { flow, start_s: starts, completion_s: lasted } = studio.rows.columns(this.tables.flows);
      return new Map(flow.map((name, index) => [name, starts[index] === null ? 0 : lasted[index] === null ? this.duration : starts[index] + lasted[index]]));
    }

    // The largest or least value of links on the route of each flow's data, at each instant.
    #alongRoutes(links, choose, lives) {
      const made = this.answer.network.flows.map((flow, number) => {
        const side = TWO_WAY.includes(this.answer.apps[number]) ? "reverse_route" : "route";
        const routes = [[0, flow[side] ?? []], ...flow[`${side}s_later`].map((each) => [each.time_s, each.route ?? []])];
        const until = (index) => Math.min(routes[index + 1]?.[0] ?? this.duration, lives.get(flow.flow) ?? this.duration);
        const parts = routes.map(([begin, names], index) => studio.rows.along(names.map((name) => links.get(name)).filter(Boolean), choose, begin, until(index)));
        return [flow.flow, studio.rows.chain(parts)];
      });
      return new Map(made);
    }

    #counts(groups) {
      return new Map([...groups].map(([flow, rows]) => [flow, studio.rows.events(Float64Array.from(rows, (row) => row.time_s), this.duration)]));
    }

    #series() {
      const names = new Map();
      for (const row of studio.rows.rows(this.tables.modcods)) names.set(row.medium, { ...names.get(row.medium), [row.waveform]: row.modcod });
      const recorded = this.dictionary.series
        .filter((each) => this.points.has(each.name))
        .map((each) => ({ name: each.name, of: each.entity, unit: each.unit, meaning: each.meaning, kind: each.kind, ...(each.name === "modcod" ? { names: Object.fromEntries(names) } : {}), ...(each.name === "limited_by" ? { states: this.limits } : {}) }));
      const changing = Object.entries(PATH).filter(([name]) => this.points.has(name)).map(([name, [, unit, meaning]]) => ({ name, of: "link", unit, meaning, kind: "level" }));
      const along = Object.entries(ALONG).filter(([name]) => this.points.has(name)).map(([name, [unit, meaning]]) => ({ name, of: "flow", unit, meaning, kind: "level" }));
      const causes = this.dictionary.causes.filter((each) => this.points.has(`losses:${each.name}`)).map((each) => ({ name: `losses:${each.name}`, of: "flow", unit: "1", meaning: each.meaning, kind: "count" }));
      return [...recorded, ...along, ...changing, ...causes];
    }

    #meta() {
      const { answer, about, known } = this;
      const flows = studio.rows.columns(this.tables.flows);
      const trips = Object.fromEntries(flows.flow.map((flow, index) => [flow, flows.rtt_p50_s[index]]));
      const waits = studio.rows.rows(this.tables.terminals).sort((one, other) => (other.grant_wait_mean_s ?? -1) - (one.grant_wait_mean_s ?? -1));
      const queue = (link) => mean(this.points.get("queue_bytes")?.get(link) ?? empty);
      return {
        ...about,
        title: answer.title || about.run,
        seed: about.seed ?? answer.seed,
        version: known.version,
        results: known.results,
        digest: answer.digest,
        duration_s: this.duration,
        flows: [...answer.flows].sort((one, other) => Number(trips[one] === null) - Number(trips[other] === null)),
        links: answer.links,
        rtt_s: trips,
        busiest: [...answer.links].sort((one, other) => queue(other) - queue(one))[0] ?? null,
        terminals: Object.fromEntries(waits.map((row) => [row.link, row.medium])),
        access: Object.fromEntries(waits.filter((row) => row.air_mean_s !== null).map((row) => [row.link, Object.fromEntries(ACCESS.map((part) => [part, row[`${part}_mean_s`]]))])),
        adapted: adapted(this.points.get("modcod"), waits),
        senders: Object.fromEntries(flows.flow.map((flow, index) => [flow, flows.cc[index]]).filter(([, cc]) => cc !== null)),
        completion_s: Object.fromEntries(flows.flow.map((flow, index) => [flow, flows.completion_s[index]]).filter(([, took]) => took !== null)),
        series: this.#series(),
        happenings: this.#happenings(trips),
        statements: [],
        notes: this.tables.notes,
        has_sky: answer.has_sky,
        epoch: null,
      };
    }

    // Changes of the path are marked once; timeouts and bursts of losses by flow.
    #happenings(trips) {
      const found = [];
      const add = (time_s, kind, flow, text, numbers = {}) => found.push({ time_s, kind, flow, text, numbers });
      for (const link of this.answer.network.links) {
        for (const [begin, end] of spans(link.outage, this.duration)) add(begin, "outage", "", `${link.link} is down`, { duration_s: end - begin });
        for (const [begin] of link.away_s) if (begin > 0 && begin < this.duration) add(begin, "change", "", `${link.link} is away`);
      }
      const seen = new Set();
      for (const flow of this.answer.network.flows) {
        let before = flow.route;
        for (const { time_s: time, route } of flow.routes_later) {
          const isHandover = this.answer.has_sky && route && before && (route[0] !== before[0] || route.at(-1) !== before.at(-1));
          before = route;
          if (time < this.duration && !seen.has(time)) add(time, isHandover ? "handover" : "change", "", "another path");
          seen.add(time);
        }
      }
      for (const { time_s: time, flow, event } of this.events) if (event === "timeout") add(time, "timeout", flow, "timeout");
      const last = new Map();
      for (const { time_s: time, flow } of this.losses) {
        const before = last.get(flow);
        if (before && time - before.end <= (trips[flow] || 0.1)) {
          before.numbers.packets += 1;
          before.end = time;
        } else {
          add(time, "loss", flow, "losses", { packets: 1 });
          last.set(flow, Object.assign(found.at(-1), { end: time }));
        }
      }
      return found.sort((one, other) => one.time_s - other.time_s).slice(0, HAPPENINGS_MOST);
    }

    series({ name, of, from, to, columns }) {
      const { kind } = this.meta.series.find((each) => each.name === name);
      return studio.curves.cut(this.points.get(name)?.get(of) ?? empty, kind, from, to, columns);
    }

    // The value of each series at a moment.
    at(t) {
      const found = {};
      for (const { name, kind } of this.meta.series) {
        if (kind === "count") continue;
        found[name] = {};
        for (const [of, points] of this.points.get(name)) {
          const value = studio.curves.value({ kind, points }, t);
          if (value !== null) found[name][of] = value;
        }
      }
      return found;
    }

    // What the core recorded about a moment: the limit of the sender, its last events, and the last losses.
    why({ flow, t }) {
      const sentences = [];
      const limit = this.points.get("limited_by")?.get(flow);
      const index = limit ? studio.lower(limit.begins, t + 1e-12) - 1 : -1;
      if (index >= 0) {
        const number = limit.values[index];
        const name = this.limits[number];
        sentences.push(number === 0 ? "Nothing limits the sender." : `The sender is limited by ${name}, since ${limit.begins[index].toFixed(3)} s.`);
      }
      const meaning = (event) => this.dictionary.events.find((each) => each.name === event)?.meaning.split("; value")[0].replace(/\.$/, "") ?? event;
      const told = this.events.filter((each) => each.flow === flow && each.time_s <= t && !["retransmission", "transfer"].includes(each.event)).slice(-BEFORE);
      const lost = this.losses.filter((each) => each.flow === flow && each.time_s <= t);
      const counts = new Map();
      for (const { cause } of lost) counts.set(cause, (counts.get(cause) ?? 0) + 1);
      const causes = [...counts].map(([cause, count]) => `${count} by ${cause}`);
      const rows = told.map((each) => [each.time_s, `${meaning(each.event)}.`]);
      if (lost.length) rows.push([lost.at(-1).time_s, `The last loss so far, at ${lost.at(-1).where}. Lost packets up to here: ${causes.join(", ")}.`]);
      rows.sort((one, other) => one[0] - other[0]);
      sentences.push(...rows.map(([time, text]) => `${time.toFixed(3)} s: ${text}`));
      const nothing = limit ? "The flow has not begun." : "This flow has no sender with a window: its losses are in the plots.";
      return { flow, t, sentences: sentences.length ? sentences : [nothing], happenings: [] };
    }

    // Time by the limit of the sender, in a part of the run.
    spent({ flow, from = 0, to = this.duration }) {
      const points = this.points.get("limited_by")?.get(flow) ?? empty;
      const parts = new Map();
      points.begins.forEach((time, index) => {
        const [begin, end] = [Math.max(time, from), Math.min(points.begins[index + 1] ?? points.end, to)];
        const number = points.values[index];
        if (!(end > begin)) return;
        const words = this.limits[number];
        const part = parts.get(number) ?? { part: `limit-${number}`, words: words.replace(/^the /, ""), what: words, colour: COLOURS[number], time_s: 0, longest_s: [begin, begin] };
        part.time_s += end - begin;
        if (end - begin > part.longest_s[1] - part.longest_s[0]) part.longest_s = [begin, end];
        parts.set(number, part);
      });
      const found = [...parts.values()].sort((one, other) => other.time_s - one.time_s);
      return { flow, start_s: from, end_s: to, parts: found.map((each) => ({ ...each, share: each.time_s / (to - from) })) };
    }
  }

  function grouped(rows) {
    const found = new Map();
    for (const row of rows) {
      if (!found.has(row.flow)) found.set(row.flow, []);
      found.get(row.flow).push(row);
    }
    return found;
  }

  const mean = ({ values }) => (values.length ? values.reduce((sum, value) => sum + value, 0) / values.length : 0);

  // The spans of an outage that is known before the run, up to its end.
  function spans(outage, end) {
    if (!outage?.spans_s) return [];
    const { spans_s: given, period_s: period } = outage;
    const turns = period ? Math.min(Math.ceil(end / period), HAPPENINGS_MOST) : 1;
    return Array.from({ length: turns }, (_, turn) => given.map(([from, to]) => [from + turn * (period ?? 0), Math.min((to ?? end) + turn * (period ?? 0), end)])).flat().filter(([from]) => from < end);
  }

  // A profile of a link as points up to the end of a run; an even change has points between.
  function steps({ times_s: at, values, linear, period_s: period }, end) {
    const points = [];
    for (let start = 0; start <= end && points.length < 100_000; start += period ?? Infinity) {
      at.forEach((time, index) => {
        const next = at[index + 1];
        const pieces = linear && next !== undefined ? 8 : 1;
        for (let piece = 0; piece < pieces; piece += 1) {
          const share = piece / pieces;
          points.push([start + time + share * ((next ?? time) - time), values[index] + share * ((values[index + 1] ?? values[index]) - values[index])]);
        }
      });
    }
    const there = points.filter(([time]) => time <= end);
    const column = (place) => Float64Array.from(there, (point) => point[place]);
    return studio.rows.curve("level", column(0), column(1), end);
  }

  // A scenario before its run: its network, and no series.
  class Draft {
    constructor(answer, about) {
      this.answer = answer;
      this.meta = { ...about, is_draft: true, title: answer.title, duration_s: answer.duration_s, flows: answer.flows, links: answer.links, rtt_s: {}, busiest: null, terminals: {}, series: [], happenings: [], has_sky: answer.has_sky };
    }

    at() {
      return {};
    }
  }

  const runs = new Map();
  const of = (run) => runs.get(run);

  // The last runs stay, so that one can be behind another.
  function keep(name, run) {
    runs.set(name, run);
    while (runs.size > 4) runs.delete(runs.keys().next().value);
  }

  // The sky of a text is asked for once; all runs of the text have it.
  const skies = new Map();
  function skyOf(run) {
    const { text } = of(run).meta;
    if (!skies.has(text)) {
      skies.clear();
      skies.set(text, studio.core.ask({ sky: { text } }));
    }
    return skies.get(text);
  }

  // The core answers for the sky that it was asked for last.
  async function cells(run, { constellation, t, to }, isDelay) {
    await skyOf(run);
    const found = await studio.core.ask({ cells: { constellation, time_s: t, is_delay: isDelay, to: to ?? null } });
    if (!found.wrong) return found;
    skies.clear();
    throw new Error(found.wrong);
  }

  const source = {
    isLive: true,
    meta: async (run) => of(run).meta,
    network: async (run) => of(run).answer.network,
    sky: skyOf,
    keyframes: async (run) => Int16Array.from((await skyOf(run)).frames).buffer,
    land: async () => JSON.parse(document.getElementById("lab-land").textContent),
    series: async (run, asked) => of(run).series(asked),
    at: async (run, t) => of(run).at(t),
    why: async (run, asked) => of(run).why(asked),
    spent: async (run, asked) => of(run).spent(asked),
    coverage: (run, asked) => cells(run, asked, false),
    delays: (run, asked) => cells(run, asked, true),
    hasPackets: (meta) => !meta.is_draft,
    spanAt: (meta, { t, length }) => [Math.max(0, t - length / 2), Math.min(meta.duration_s, t + length / 2)],
    packets: (run, asked) => studio.captured.packets(of(run), asked),
  };

  studio.finished = { Run, Draft, keep, find: of, source };
})();
