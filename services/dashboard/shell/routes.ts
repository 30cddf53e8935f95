import { computed, signal } from '@preact/signals';
import type { Scope } from './key-scopes.ts';

/** The routes. They are read from the URL fragment, which never leaves the browser. */
export type Route =
  | { readonly page: SectionName }
  | { readonly page: 'capture'; readonly uuid: string }
  | { readonly page: 'batch'; readonly id: string }
  | { readonly page: 'unknown' };

export type SectionName = 'playground' | 'captures' | 'sessions' | 'usage' | 'keys' | 'webhooks' | 'operator';

export interface Section {
  readonly name: SectionName;
  readonly title: string;
  /** The scope that a key needs for the section; null for the operator. */
  readonly scope: Scope | null;
}

/** The entries of the navigation, in order. */
export const sections: readonly Section[] = [
  { name: 'playground', title: 'Playground', scope: 'capture' },
  { name: 'captures', title: 'Captures', scope: 'read' },
  { name: 'sessions', title: 'Sessions', scope: 'read' },
  { name: 'usage', title: 'Usage', scope: 'read' },
  { name: 'keys', title: 'Keys', scope: 'manage' },
  { name: 'webhooks', title: 'Webhooks', scope: 'manage' },
  { name: 'operator', title: 'Operator', scope: null },
];

const fragment = signal(location.hash);
/** Number of route changes. Pages after the first one take the focus. */
export const routeChanges = signal(0);

addEventListener('hashchange', () => {
  routeChanges.value++;
  fragment.value = location.hash;
});

export const route = computed((): Route => parseRoute(fragment.value));

/** Whether the address names no page. */
export const isStart = computed(() => /^#?\/?$/.test(fragment.value));

/** The parameters after ? in the fragment, for example the filters of a list. */
export const routeQuery = computed(() => new URLSearchParams(fragment.value.split('?')[1] ?? ''));

function parseRoute(hash: string): Route {
  const [path = ''] = hash.replace(/^#\/?/, '').split('?');
  const [first = '', second, ...rest] = path.split('/');
  if (first === '') return { page: 'playground' };
  if (rest.length > 0) return { page: 'unknown' };
  if (first === 'captures' && second !== undefined && second !== '') return { page: 'capture', uuid: second };
  if (first === 'batches' && second !== undefined && second !== '') return { page: 'batch', id: second };
  const section = sections.find(({ name }) => name === first);
  return section === undefined || second !== undefined ? { page: 'unknown' } : { page: section.name };
}

/**
 * Returns the address of the playground with a request without secrets. The webhook is left out, because its address often contains
 * a secret.
 */
export function linkToPlayground({ webhook: _webhook, ...request }: Readonly<Record<string, unknown>>): string {
  return `${linkTo('playground')}?request=${encodeURIComponent(JSON.stringify(request))}`;
}

/** Returns the address of a page, for links. */
export function linkTo(name: SectionName | 'batches', ...rest: readonly string[]): string {
  return `#/${[name, ...rest.map(encodeURIComponent)].join('/')}`;
}
