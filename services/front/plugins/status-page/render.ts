import type { HistoryDay, Incident, StatusHistory } from '@webcapture/shared/api/status-history.ts';
import type { ComponentStatus, OverallStatus, StatusValue } from '@webcapture/shared/api/status.ts';

// Everything exported here runs in the front, and in the browser as its source text: see pageScript in page.ts. The code may therefore use
// only what both have, and only what is exported.

/** The data of the page. */
export interface PageModel {
  readonly status: OverallStatus;
  /** If null, the history on the page stays unchanged. */
  readonly history: StatusHistory | null;
  /** Whether the service has not answered since the status was created. Only a browser can detect that. */
  readonly isSilent: boolean;
}

/** A displayed state; `unknown` without data. */
export type ShownState = StatusValue | 'unknown';

export const stateLabels = {
  operational: 'Operational',
  degraded_performance: 'Degraded performance',
  partial_outage: 'Partial outage',
  major_outage: 'Major outage',
} as const;

export function stateLabel(state: StatusValue): string {
  return stateLabels[state];
}

export const componentLabels: Readonly<Record<string, string>> = {
  api: 'API',
  queue: 'Queue',
  storage: 'File storage',
  engine: 'All regions',
};

/** Returns the label of a component, such as US East for `engine.us-east`. */
export function componentLabel(name: string): string {
  if (Object.hasOwn(componentLabels, name)) return componentLabels[name] ?? name;
  const words = name.replace(/^engine\./, '').split('-');
  return words
    .map((word) => (word.length === 2 ? word.toUpperCase() : word.charAt(0).toUpperCase() + word.slice(1)))
    .join(' ');
}

export function escapeHtml(text: string): string {
  const entities: Record<string, string> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;', "'": '&#39;' };
  return text.replace(/[&<>"']/g, (character) => entities[character] ?? '');
}

/** Escapes foreign text and isolates its direction, so that it cannot reorder the text around it. */
export function untrusted(text: string): string {
  return `<bdi>${escapeHtml(text)}</bdi>`;
}

/** Formats a time in UTC as `14:05`; with the day if it is not today. */
export function clockTime(timestamp: string, today: string): string {
  const time = timestamp.slice(11, 16);
  return timestamp.slice(0, 10) === today.slice(0, 10) ? time : `${shortDate(timestamp)}, ${time}`;
}

export const months = 'January February March April May June July August September October November December';

/** Formats a time as `10 March 2026`. */
export function longDate(timestamp: string): string {
  const [year, month, day] = timestamp.slice(0, 10).split('-');
  return `${Number(day)} ${months.split(' ')[Number(month) - 1]} ${year}`;
}

/** Formats a time as `10 Mar`. */
export function shortDate(timestamp: string): string {
  const [day, month = ''] = longDate(timestamp).split(' ');
  return `${day} ${month.slice(0, 3)}`;
}

/** Formats a duration as `45 s`, `12 min`, `3 h 20 min` or `2 d 4 h`. */
export function duration(seconds: number): string {
  const both = (size: number, unit: string, part: number, smaller: string) => {
    const rest = Math.floor((seconds % size) / part);
    return `${Math.floor(seconds / size)} ${unit}${rest === 0 ? '' : ` ${rest} ${smaller}`}`;
  };
  if (seconds < 60) return `${Math.round(seconds)} s`;
  if (seconds < 3600) return `${Math.floor(seconds / 60)} min`;
  return seconds <= 86_400 ? both(3600, 'h', 60, 'min') : both(86_400, 'd', 3600, 'h');
}

export function timeTag(timestamp: string, text: string): string {
  return `<time datetime="${escapeHtml(timestamp)}">${escapeHtml(text)}</time>`;
}

/** Returns the time at which the front created the status. */
export function answeredAt({ components = [], lastCheckedAt }: OverallStatus): string {
  return components.find(({ name }) => name === 'api')?.lastCheckedAt ?? lastCheckedAt;
}

/** Returns the components that have not been reported for a minute. */
export function unreported({ status, isSilent }: PageModel): readonly ComponentStatus[] {
  const at = Date.parse(answeredAt(status));
  return (status.components ?? []).filter(
    ({ name, lastCheckedAt }) => isSilent || (name !== 'api' && at - Date.parse(lastCheckedAt) > 60_000),
  );
}

export const titles = {
  operational: 'All systems operational',
  degraded_performance: 'Degraded performance',
  partial_outage: 'Partial outage',
  major_outage: 'Major outage',
} as const;

/** Returns the overall state, its title and its explanation. */
export function summaryOf(model: PageModel): {
  readonly state: ShownState;
  readonly title: string;
  readonly text: string;
} {
  const { status, isSilent } = model;
  const { components = [] } = status;
  const at = answeredAt(status);
  if (isSilent) {
    const text = 'The service may be down, or this device has no connection. The last known state is shown below.';
    return { state: 'unknown', title: `No answer since ${clockTime(at, new Date().toISOString())} UTC`, text };
  }
  const silent = unreported(model);
  const bad = components.filter((component) => component.status !== 'operational');
  const [longest] = silent.toSorted((a, b) => a.lastCheckedAt.localeCompare(b.lastCheckedAt));
  if (longest !== undefined && bad.every((component) => silent.includes(component))) {
    const since = clockTime(longest.lastCheckedAt, at);
    const text = `The API answers. There has been no report on ${silent.length === 1 ? componentLabel(longest.name) : 'other components'} since ${since} UTC.`;
    return { state: 'unknown', title: 'The state is not fully known', text };
  }
  const names = bad.filter(({ name }) => name !== 'engine').map(({ name }) => componentLabel(name));
  const text = bad.length === 0 ? 'Captures are accepted in every region.' : `Affected: ${names.join(', ')}.`;
  return { state: status.status, title: titles[status.status], text };
}

export const icons = {
  operational: '<path d="m7.5 12.5 3 3 6-6.5"/>',
  degraded_performance: '<path d="M12 7.5v5M12 16v.2"/>',
  partial_outage: '<path d="M12 7.5v5M12 16v.2"/>',
  major_outage: '<path d="m8.5 8.5 7 7m0-7-7 7"/>',
  unknown: '<path d="M9.3 9.5a2.7 2.7 0 1 1 3.9 2.4c-.8.4-1.2.9-1.2 1.7M12 16.4v.2"/>',
} as const;

export function renderBanner(model: PageModel): string {
  const { state, title, text } = summaryOf(model);
  return `<div class="banner ${state}"><svg viewBox="0 0 24 24" aria-hidden="true"><circle cx="12" cy="12" r="11"/>${icons[state]}</svg><div><h1>${escapeHtml(title)}</h1><p>${escapeHtml(text)}</p></div></div>`;
}

export function renderChecked({ status, isSilent }: PageModel): string {
  const at = answeredAt(status);
  const when = timeTag(at, `${at.slice(11, 19)} UTC on ${longDate(at)}`);
  return isSilent ? `Last answer at ${when}` : `Checked at ${when}`;
}

export function renderHead(component: ComponentStatus, model: PageModel): string {
  const { name, status: state, message, responseTimeMs, lastCheckedAt } = component;
  const isUnreported = unreported(model).some((each) => each.name === name);
  const at = model.isSilent ? answeredAt(model.status) : lastCheckedAt;
  const since = `${model.isSilent ? 'No answer' : 'No report'} since ${clockTime(at, new Date().toISOString())} UTC`;
  const isUp = state === 'operational';
  const time =
    responseTimeMs === undefined || !isUp || isUnreported ? '' : `<span class="ms">${responseTimeMs} ms</span>`;
  const why =
    message === undefined || (isUp && (!isUnreported || model.isSilent))
      ? ''
      : `<p class="message">${untrusted(message)}</p>`;
  return `<h3>${escapeHtml(componentLabel(name))}</h3>${time}<span class="state ${isUnreported ? 'unknown' : state}">${isUnreported ? since : stateLabel(state)}</span>${why}`;
}

/** Returns the seconds of a day by state, the worst state first. */
export function partsOf(day: HistoryDay): readonly (readonly [ShownState, number])[] {
  const { major_outage = 0, partial_outage = 0, degraded_performance = 0, operational = 0, noData = 0 } = day;
  const parts = [
    ['major_outage', major_outage],
    ['partial_outage', partial_outage],
    ['degraded_performance', degraded_performance],
    ['operational', operational],
    ['unknown', noData],
  ] as const;
  return parts.filter(([, seconds]) => seconds > 0);
}

/** Describes a day as `Operational 23 h 50 min, partial outage 10 min`. */
export function dayText(day: HistoryDay): string {
  const parts = partsOf(day);
  const label = (state: ShownState) => (state === 'unknown' ? 'no data' : stateLabels[state].toLowerCase());
  const [only] = parts;
  if (only === undefined || parts.length === 1) return only === undefined ? 'no data' : label(only[0]);
  return parts.map(([state, seconds]) => `${label(state)} ${duration(seconds)}`).join(', ');
}

/** Returns the last 90 days until today, including days without data. */
export function lastDays(days: readonly HistoryDay[], now: string): readonly HistoryDay[] {
  const known = new Map(days.map((day) => [day.date, day]));
  const today = Date.parse(now.slice(0, 10));
  return Array.from({ length: 90 }, (_, index) => {
    const date = new Date(today - (89 - index) * 86_400_000).toISOString().slice(0, 10);
    return known.get(date) ?? { date, noData: 86_400 };
  });
}

/** Returns the CSS classes of a bar: its worst state, the share of that state from 1 to 4, and the share without data from 1 to 4. */
export function barClasses(day: HistoryDay): string {
  const parts = partsOf(day);
  const total = parts.reduce((sum, [, seconds]) => sum + seconds, 0);
  const [worst = 'unknown'] = parts[0] ?? [];
  const shareOf = (states: readonly ShownState[]) =>
    parts.reduce((sum, [state, seconds]) => (states.includes(state) ? sum + seconds : sum), 0) / Math.max(1, total);
  const bad = shareOf(['major_outage', 'partial_outage', 'degraded_performance']);
  const unseen = shareOf(['unknown']);
  // With the root, even a minute of an outage is visible.
  const level = (share: number) => Math.max(1, Math.min(4, Math.ceil(4 * share)));
  return [
    worst,
    ...(bad > 0 ? [`q${level(Math.sqrt(bad))}`] : []),
    ...(unseen > 0.02 && worst !== 'unknown' ? [`n${level(unseen)}`] : []),
  ].join(' ');
}

export function renderHistory(name: string, history: StatusHistory): string {
  const component = history.components.find((each) => each.name === name);
  if (component === undefined) {
    const why =
      name === 'api'
        ? 'There is no history of the API: a front knows only that it answers.'
        : 'Nothing is recorded yet.';
    return `<p class="unrecorded">${why}</p>`;
  }
  const days = lastDays(component.days, history.generatedAt);
  const uptime = component.uptimePercent === null ? 'no data' : `${component.uptimePercent.toFixed(2)}% uptime`;
  const bars = days.map((day) => `<i class="${barClasses(day)}"></i>`).join('');
  const label = componentLabel(name);
  return `<div class="bars" role="img" aria-label="${escapeHtml(`${label}, last 90 days: ${uptime}. ${problemsText(days)}`)}">${bars}</div><p class="scale"><span>90 days ago</span><span>${uptime}</span><span>Today</span></p>${renderTable(label, days)}`;
}

export function problemsText(days: readonly HistoryDay[]): string {
  const bad = days.filter((day) => !['operational', 'unknown'].includes(partsOf(day)[0]?.[0] ?? 'unknown'));
  const last = bad.at(-1);
  if (last === undefined) return 'No problems.';
  return `Problems on ${bad.length} ${bad.length === 1 ? 'day' : 'days'}, last on ${longDate(last.date)}: ${dayText(last)}.`;
}

/** Renders the data of the bars as a table; equal consecutive days share a row. */
export function renderTable(label: string, days: readonly HistoryDay[]): string {
  const rows: { from: string; to: string; text: string }[] = [];
  for (const day of days) {
    const text = dayText(day);
    const last = rows.at(-1);
    if (last?.text === text && !text.includes(',')) last.to = day.date;
    else rows.push({ from: day.date, to: day.date, text });
  }
  const cells = rows.toReversed().map(({ from, to, text }) => {
    const when = from === to ? longDate(to) : `${longDate(from)} – ${longDate(to)}`;
    return `<tr><th scope="row">${when}</th><td>${text.charAt(0).toUpperCase()}${text.slice(1)}</td></tr>`;
  });
  return `<details><summary>Days as a table<span class="hidden"> of ${escapeHtml(label)}</span></summary><table><thead><tr><th scope="col">Days</th><th scope="col">State</th></tr></thead><tbody>${cells.join('')}</tbody></table></details>`;
}

/** Returns the names of the current components, and of those of the last 90 days, by section. */
export function componentNames({ status, history }: PageModel): readonly (readonly [string, readonly string[]])[] {
  const current = (status.components ?? []).map(({ name }) => name);
  const former = (history?.components ?? []).map(({ name }) => name).filter((name) => !current.includes(name));
  const isEngine = (name: string) => name.startsWith('engine');
  const groups = [
    ['Service', current.filter((name) => !isEngine(name))],
    ['Rendering', current.filter(isEngine)],
    ['No longer in service', former],
  ] as const;
  return groups.filter(([, names]) => names.length > 0);
}

export function renderComponents(model: PageModel): string {
  const { status, history } = model;
  return componentNames(model)
    .map(([title, names]) => {
      const rows = names.map((name) => {
        const component = status.components?.find((each) => each.name === name);
        const head =
          component === undefined ? `<h3>${escapeHtml(componentLabel(name))}</h3>` : renderHead(component, model);
        const id = escapeHtml(name);
        return `<li><div class="head" id="head-${id}">${head}</div><div id="days-${id}" data-name="${id}">${history === null ? '' : renderHistory(name, history)}</div></li>`;
      });
      return `<section class="group"><h2>${title}</h2><ul>${rows.join('')}</ul></section>`;
    })
    .join('');
}

/** Returns the incidents without those of the engine, which repeat those of its regions. */
export function shownIncidents(history: StatusHistory): readonly Incident[] {
  return history.incidents.filter(({ component }) => component !== 'engine');
}

/** @param heading element of the heading */
export function renderIncident(incident: Incident, now: string, heading: 'h3' | 'h4'): string {
  const { id, component, status: state, startedAt, endedAt, message, updates, interruptions } = incident;
  const lasted = duration((Date.parse(endedAt ?? now) - Date.parse(startedAt)) / 1000);
  const end =
    endedAt === null
      ? `, for ${lasted} so far`
      : ` – ${timeTag(endedAt, clockTime(endedAt, startedAt))} UTC · ${lasted}`;
  const start = timeTag(startedAt, endedAt === null ? clockTime(startedAt, now) : clockTime(startedAt, startedAt));
  const when = endedAt === null ? `Since ${start} UTC${end}` : `${start}${end}`;
  const again =
    interruptions === 0
      ? ''
      : `<p>It recovered and failed again ${interruptions === 1 ? 'once' : `${interruptions} times`}.</p>`;
  const steps = updates.map(
    (update) =>
      `<li>${timeTag(update.at, clockTime(update.at, startedAt))} <b>${stateLabel(update.status)}</b> ${untrusted(update.message)}</li>`,
  );
  const course = updates.length > 1 ? `<ol>${steps.join('')}</ol>` : '';
  return `<article class="incident ${state}" id="${escapeHtml(id)}"><${heading}>${escapeHtml(componentLabel(component))}<span class="state ${state}">${stateLabel(state)}</span></${heading}><p class="when">${when}</p><p class="message">${untrusted(message)}</p>${course}${again}</article>`;
}

export function renderOngoing({ history, isSilent }: PageModel): string {
  if (history === null) return '';
  const open = shownIncidents(history).filter(({ endedAt }) => endedAt === null);
  if (open.length === 0) return '';
  const title = isSilent ? 'Ongoing when the service answered last' : 'Ongoing';
  return `<section class="ongoing"><h2>${title}</h2>${open.map((each) => renderIncident(each, history.generatedAt, 'h3')).join('')}</section>`;
}

/** Number of incidents that are visible without a click. */
export const recentIncidents = 6;

export function renderPast(history: StatusHistory): string {
  const ended = shownIncidents(history).filter(({ endedAt }) => endedAt !== null);
  if (ended.length === 0) return '<p class="none">No incidents in the last 90 days.</p>';
  const list = (incidents: readonly Incident[]) =>
    [...Map.groupBy(incidents, ({ startedAt }) => startedAt.slice(0, 10))]
      .map(
        ([date, all]) =>
          `<section class="day"><h3>${timeTag(date, longDate(date))}</h3>${all.map((each) => renderIncident(each, history.generatedAt, 'h4')).join('')}</section>`,
      )
      .join('');
  const older = ended.slice(recentIncidents);
  const more =
    older.length === 0
      ? ''
      : `<details><summary>${older.length} older ${older.length === 1 ? 'incident' : 'incidents'}</summary>${list(older)}</details>`;
  return list(ended.slice(0, recentIncidents)) + more;
}
