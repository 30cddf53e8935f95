import { signal } from '@preact/signals';
import type { JsonSchema } from '@webcapture/shared/api/describe-schema.ts';
import { onKeyChange } from '../../shell/session.ts';
import { type Body, type Path, pathKey, withoutSecrets, withValue } from './schema.ts';

/** The request that is being put together. It outlives the page, so that one can look at the captures and come back. */
export const body = signal<Body>({});

/** Whether the page is at an address or is written here. What the other one has is kept meanwhile. */
export const source = signal<'url' | 'html'>('url');
export const url = signal('');
export const html = signal('');

/** What the service has said of fields, until they are changed. */
export const refusals = signal<ReadonlyMap<string, string>>(new Map());

/** Counts the times that a field is wrong which is out of sight, in a closed group or beside what is searched for. */
export const hiddenProblems = signal(0);

export function setOption(path: Path, value: unknown): void {
  body.value = withValue(body.value, path, value);
  forgetRefusal(pathKey(path));
}

export function forgetRefusal(key: string): void {
  const isOther = (each: string) =>
    each !== '' && each !== key && !each.startsWith(`${key}.`) && !key.startsWith(`${each}.`);
  refusals.value = new Map([...refusals.value].filter(([each]) => isOther(each)));
}

/** What is sent. */
export function wholeRequest(): Body {
  const page = source.value === 'url' ? { url: url.value.trim() } : { html: html.value };
  return { ...page, ...body.value };
}

/** Replaces all that is filled in, by an example or a preset. */
export function replaceRequest({ url: newUrl, html: newHtml, responseType: _type, ...options }: Body): void {
  if (typeof newUrl === 'string') {
    source.value = 'url';
    url.value = newUrl;
  }
  if (typeof newHtml === 'string') {
    source.value = 'html';
    html.value = newHtml;
  }
  body.value = options;
  refusals.value = new Map();
}

onKeyChange(() => {
  replaceRequest({ url: '', html: '' });
  source.value = 'url';
});

/** Options that were kept in this browser under a name. */
export interface Preset {
  readonly name: string;
  readonly body: Body;
}

const storageName = 'webcapture.presets';

export const presets = signal<readonly Preset[]>(readPresets());

function readPresets(): readonly Preset[] {
  try {
    const stored: unknown = JSON.parse(localStorage.getItem(storageName) ?? '[]');
    return Array.isArray(stored) ? (stored as Preset[]) : [];
  } catch {
    return [];
  }
}

/** Keeps the request under a name, without fields that the schema calls writeOnly: the browser's storage is not for passwords. */
export function keepPreset(name: string, request: Body, schema: JsonSchema): void {
  const others = presets.value.filter((each) => each.name !== name);
  storePresets([...others, { name, body: withoutSecrets(request, schema) }]);
}

export function removePreset(name: string): void {
  storePresets(presets.value.filter((each) => each.name !== name));
}

function storePresets(all: readonly Preset[]): void {
  presets.value = all;
  localStorage.setItem(storageName, JSON.stringify(all));
}
