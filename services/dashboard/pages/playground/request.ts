import { signal } from '@preact/signals';
import type { JsonSchema } from '@webcapture/shared/api/describe-schema.ts';
import { linkTo, linkToPlayground } from '../../shell/routes.ts';
import { onKeyChange } from '../../shell/session.ts';
import { type Body, parseObject, type Path, pathKey, withoutSecrets, withValue } from './schema.ts';

/** The request in the form. It is kept when the page closes, so that the user can look at the captures and return. */
export const body = signal<Body>({});

/** Whether the source is an address or HTML. The value of the other one is kept. */
export const source = signal<'url' | 'html'>('url');
export const url = signal('');
export const html = signal('');

/** Errors from the service by field, until the field changes. */
export const refusals = signal<ReadonlyMap<string, string>>(new Map());

/** Number of attempts in which an invalid field was hidden, in a closed group or by the search. */
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

/** The body that is sent. */
export function wholeRequest(): Body {
  const page = source.value === 'url' ? { url: url.value.trim() } : { html: html.value };
  return { ...page, ...body.value };
}

/** Replaces the whole form with an example or a preset. */
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

/** Name under which the tab stores the draft. A reload of the page then keeps the form. */
const draftName = 'webcapture.playground';

restoreDraft();

onKeyChange(() => {
  replaceRequest({ url: '', html: '' });
  source.value = 'url';
  sessionStorage.removeItem(draftName);
});

function restoreDraft(): void {
  const draft = parseObject(sessionStorage.getItem(draftName) ?? '');
  if (draft !== undefined) replaceRequest(draft);
}

/** Stores the request for a reload, without secrets. */
export function keepDraft(request: Body, schema: JsonSchema): void {
  try {
    sessionStorage.setItem(draftName, JSON.stringify(withoutSecrets(request, schema)));
  } catch {
    // HTML may be larger than the storage of the browser.
    sessionStorage.removeItem(draftName);
  }
}

/** Maximum length of HTML in a link. Chats and emails cut long addresses off. */
const maxLinkedHtml = 4000;

/** Returns an address of the playground with the request, without secrets and without large values. */
export function sharedLink(request: Body, schema: JsonSchema): string {
  const { url: address, html: text, ...options } = withoutSecrets(request, schema);
  const page =
    typeof text === 'string' ? { html: text.length > maxLinkedHtml ? '' : text } : { url: withoutLogin(address) };
  return new URL(linkToPlayground({ ...page, ...withoutAttachments(options) }), document.baseURI).href;
}

/** Removes the user name and the password from an address. */
function withoutLogin(address: unknown): unknown {
  const parsed = URL.parse(String(address));
  if (parsed === null || (parsed.username === '' && parsed.password === '')) return address;
  parsed.username = '';
  parsed.password = '';
  return parsed.href;
}

function withoutAttachments({ pdf, ...options }: Body): Body {
  if (typeof pdf !== 'object' || pdf === null) return options;
  const { attachments: _large, ...others } = pdf as Body;
  return { ...options, pdf: others };
}

/**
 * Fills the form with the request in the address. Removes the request from the address, so that a reload keeps later changes. Options that
 * the service does not have, and secrets, are omitted. The webhook is omitted too, because it would send the result to the author of the
 * link.
 */
export function takeLinkedRequest(schema: JsonSchema): void {
  const linked = parseObject(new URLSearchParams(location.hash.split('?')[1] ?? '').get('request') ?? '');
  if (linked === undefined) return;
  history.replaceState(null, '', linkTo('playground'));
  const { webhook: _webhook, ...request } = linked;
  const known = Object.entries(request).filter(([name]) => Object.hasOwn(schema.properties ?? {}, name));
  replaceRequest(withoutSecrets(Object.fromEntries(known), schema));
}

/** A set of options that this browser stores under a name. */
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

/** Saves the request under a name, without the fields that the schema marks writeOnly: the browser's storage is not for passwords. */
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
