/// <reference lib="dom" />
import type { StatusHistory } from '@webcapture/shared/api/status-history.ts';
import type { OverallStatus } from '@webcapture/shared/api/status.ts';
import {
  answeredAt,
  componentLabel,
  componentNames,
  dayText,
  lastDays,
  longDate,
  type PageModel,
  renderBanner,
  renderChecked,
  renderComponents,
  renderHead,
  renderHistory,
  renderOngoing,
  renderPast,
  summaryOf,
} from './render.ts';

// As in render.ts, all top-level functions must be exported, because the browser gets the source text of each.

/** All times are in milliseconds. */
export const times = { pollMs: 15_000, maxBackoffMs: 300_000, historyMs: 300_000, timeoutMs: 10_000, silentMs: 60_000 };

/**
 * Creates a client that requests JSON. The paths are relative to the page or, if that fails, to the address of the service that the front
 * has written into the page.
 */
export function createClient() {
  const other = document.documentElement.dataset['api'];
  let bases = [new URL('.', location.href).href, ...(other === undefined ? [] : [other.replace(/\/*$/, '/')])];
  return async function load<T>(path: string, isValid: (body: Partial<T>) => boolean): Promise<T> {
    let failure: unknown;
    for (const base of bases) {
      try {
        const signal = AbortSignal.timeout(times.timeoutMs);
        const response = await fetch(base + path, { cache: 'no-cache', credentials: 'omit', signal });
        // The status is sent with 503 if the service is not operational. A cache or a proxy may send something else.
        const body = (await response.json()) as Partial<T> | null;
        if (body === null || !isValid(body)) throw new Error(`${base + path} has an unexpected body`);
        bases = [base, ...bases.filter((each) => each !== base)];
        // A copy of the page on another host has only its script next to it.
        for (const link of document.querySelectorAll<HTMLAnchorElement>('a[data-path]')) {
          link.href = base + (link.dataset['path'] ?? '');
        }
        return body as T;
      } catch (error) {
        failure = error;
      }
    }
    throw failure;
  };
}

/**
 * Creates a function that sets the HTML of an element if it has changed, and keeps open details and the focus.
 *
 * @param upgrade called after the HTML is set and before the focus is restored, to add controls
 */
export function createWriter(upgrade: () => void) {
  const written = new Map<string, string>();
  return function put(id: string, html: string): boolean {
    const element = document.getElementById(id);
    if (element === null || (written.get(id) ?? element.innerHTML) === html) return false;
    written.set(id, html);
    const open = [...element.querySelectorAll('details')].map((each) => each.open);
    const focused = element.contains(document.activeElement) ? document.activeElement?.tagName : undefined;
    element.innerHTML = html;
    upgrade();
    for (const [index, each] of element.querySelectorAll('details').entries()) each.open = open[index] ?? false;
    if (focused !== undefined) element.querySelector<HTMLElement>(focused === 'SUMMARY' ? 'summary' : '.bars')?.focus();
    return true;
  };
}

/** Updates the page periodically while it is visible. */
export function startPage(): void {
  const load = createClient();
  const meta = document.querySelector<HTMLMetaElement>('meta[name="webcapture-status"]');
  let status = JSON.parse(meta?.content ?? '{}') as OverallStatus;
  let history: StatusHistory | null = null;
  const ageMs = Math.abs(Date.now() - Date.parse(answeredAt(status)));
  // A page from a cache may contain an outdated status.
  let heardAt = ageMs < times.silentMs ? performance.now() - ageMs : Number.NEGATIVE_INFINITY;
  let historyDueAt = 0;
  let failures = 0;
  let timer = 0;
  const bars = createBars(() => history);
  const put = createWriter(() => bars.upgrade());

  const show = () => {
    const model: PageModel = { status, history, isSilent: performance.now() - heardAt > times.silentMs };
    put('banner', renderBanner(model));
    put('checked', renderChecked(model));
    document.title = `${summaryOf(model).title} – webcapture status`;
    const shown = componentNames(model).flatMap(([, names]) => names);
    const known = new Set(
      [...document.querySelectorAll<HTMLElement>('[data-name]')].map(({ dataset }) => dataset['name']),
    );
    if (history !== null && (shown.length !== known.size || shown.some((name) => !known.has(name)))) {
      put('components', renderComponents(model));
    }
    for (const component of status.components ?? []) put(`head-${component.name}`, renderHead(component, model));
    if (history === null) return;
    for (const name of shown) put(`days-${name}`, renderHistory(name, history));
    put('ongoing', renderOngoing(model));
    put('past', renderPast(history));
  };

  const poll = async () => {
    clearTimeout(timer);
    try {
      const next = await load<OverallStatus>('status', (body) => Array.isArray(body.components));
      // An unchanged status comes from a cache, so it does not prove that the service answers.
      if (answeredAt(next) !== answeredAt(status)) heardAt = performance.now();
      const states = ({ components = [] }: OverallStatus) => components.map((each) => each.name + each.status).join();
      if (states(next) !== states(status)) historyDueAt = 0;
      status = next;
      failures = 0;
      if (performance.now() >= historyDueAt) {
        historyDueAt = performance.now() + times.historyMs;
        history = await load<StatusHistory>('status/history.json', (body) => Array.isArray(body.incidents));
      }
    } catch {
      failures++;
    }
    show();
    // The page may have been hidden and shown again during this poll, which has set another timer.
    clearTimeout(timer);
    if (document.hidden) return;
    const backoffMs = Math.min(times.maxBackoffMs, times.pollMs * 2 ** failures) * (0.75 + Math.random() / 2);
    timer = window.setTimeout(() => void poll(), failures === 0 ? times.pollMs : backoffMs);
  };

  // A hidden page does not poll.
  const resume = () => (document.hidden ? clearTimeout(timer) : void poll());
  document.addEventListener('visibilitychange', resume);
  window.addEventListener('online', resume);
  void poll();
}

/** Makes the bars of a component one slider: the arrow keys move between days, and a pointer selects a day. */
export function createBars(history: () => StatusHistory | null) {
  const tip = document.createElement('div');
  tip.id = 'tip';
  tip.hidden = true;
  // Assistive technology gets the same text as the value of the slider.
  tip.setAttribute('aria-hidden', 'true');
  document.body.append(tip);

  const daysOf = (element: Element) => {
    const name = element.closest<HTMLElement>('[data-name]')?.dataset['name'] ?? '';
    const current = history();
    const component = current?.components.find((each) => each.name === name);
    return { name, days: current && component ? lastDays(component.days, current.generatedAt) : [] };
  };
  const select = (element: Element, index: number) => {
    const day = daysOf(element).days[index];
    if (day === undefined) return;
    for (const marked of document.querySelectorAll('.bars .marked')) marked.classList.remove('marked');
    const bar = element.children[index];
    bar?.classList.add('marked');
    element.setAttribute('aria-valuenow', String(index + 1));
    element.setAttribute('aria-valuetext', `${longDate(day.date)}: ${dayText(day)}`);
    tip.replaceChildren(
      Object.assign(document.createElement('b'), { textContent: longDate(day.date) }),
      ...dayText(day)
        .split(', ')
        .map((line) => Object.assign(document.createElement('span'), { textContent: line })),
    );
    tip.hidden = false;
    const { left = 0, top = 0, width = 0 } = bar?.getBoundingClientRect() ?? {};
    const x = Math.min(Math.max(left + width / 2 - tip.offsetWidth / 2, 8), innerWidth - tip.offsetWidth - 8);
    const y = top - tip.offsetHeight - 8;
    tip.style.left = `${x + scrollX}px`;
    tip.style.top = `${(y < 0 ? top + 44 : y) + scrollY}px`;
  };
  const hide = () => {
    tip.hidden = true;
    for (const marked of document.querySelectorAll('.bars .marked')) marked.classList.remove('marked');
  };
  const barsOf = ({ target }: Event) => (target instanceof Element ? target.closest('.bars') : null);
  const indexOf = (element: Element) => Number(element.getAttribute('aria-valuenow') ?? 90) - 1;

  document.addEventListener('pointermove', (event) => {
    const element = barsOf(event);
    if (element === null) {
      if (!tip.hidden && document.activeElement?.classList.contains('bars') !== true) hide();
      return;
    }
    const { left, width } = element.getBoundingClientRect();
    select(element, Math.min(89, Math.max(0, Math.floor(((event.clientX - left) / width) * 90))));
  });
  document.addEventListener('focusin', (event) => {
    const element = barsOf(event);
    if (element?.matches(':focus-visible') === true) select(element, indexOf(element));
  });
  document.addEventListener('focusout', hide);
  document.addEventListener('keydown', (event) => {
    if (event.key === 'Escape') hide();
    const element = barsOf(event);
    if (element === null) return;
    const index = indexOf(element);
    const targets: Record<string, number> = { ArrowLeft: index - 1, ArrowRight: index + 1, Home: 0, End: 89 };
    const target = targets[event.key];
    if (target === undefined) return;
    event.preventDefault();
    select(element, Math.min(89, Math.max(0, target)));
  });

  return {
    /** Adds controls to new bars on the page. */
    upgrade(): void {
      for (const element of document.querySelectorAll('.bars[role="img"]')) {
        const { name, days } = daysOf(element);
        const last = days.at(-1);
        if (last === undefined) continue;
        const description = element.getAttribute('aria-label') ?? '';
        const attributes = {
          role: 'slider',
          tabindex: '0',
          'aria-label': `Days of ${componentLabel(name)}`,
          'aria-description': description,
          'aria-valuemin': '1',
          'aria-valuemax': '90',
          'aria-valuenow': '90',
          'aria-valuetext': `${longDate(last.date)}: ${dayText(last)}`,
        };
        for (const [attribute, value] of Object.entries(attributes)) element.setAttribute(attribute, value);
      }
    },
  };
}
