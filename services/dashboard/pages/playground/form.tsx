import { useEffect, useMemo, useState } from 'preact/hooks';
import { useQuery } from '../../shell/query.ts';
import { client } from '../../shell/session.ts';
import { CodeEditor } from './code-editor.tsx';
import { FormContext } from './field-parts.tsx';
import { Field } from './fields.tsx';
import { PresetBar } from './presets.tsx';
import { body, forgetRefusal, hiddenProblems, html, refusals, setOption, source, url } from './request.ts';
import type { CaptureDocument } from './document.ts';
import { type Group, groupFields, isFound, valueAt } from './schema.ts';

/** Renders every option of POST /capture from the OpenAPI document. */
export function RequestForm({
  document,
  messages,
}: {
  readonly document: CaptureDocument;
  /** Error messages by path key. */
  readonly messages: ReadonlyMap<string, string>;
}) {
  const [search, setSearch] = useState('');
  useEffect(() => setSearch(''), [hiddenProblems.value]);
  const groups = useMemo(() => groupFields(document.schema, document.groups), [document]);
  const found = useMemo(() => (search.trim() === '' ? groups : filtered(groups, search)), [groups, search]);
  const devices = useQuery((signal) => client().listDevices({ signal }), []);
  const suggestions = useMemo(
    () => new Map([['device', (devices.data ?? []).map(({ name }) => name)]]),
    [devices.data],
  );
  const context = useMemo(() => ({ messages, suggestions }), [messages, suggestions]);
  return (
    <FormContext.Provider value={context}>
      <SourceField messages={messages} />
      <PresetBar document={document} />
      <div class="option-search">
        <label class="visually-hidden" for="option-search">
          Search the options
        </label>
        <input
          id="option-search"
          class="input"
          type="search"
          placeholder="Search the options"
          value={search}
          onInput={({ currentTarget }) => setSearch(currentTarget.value)}
        />
        <p class="visually-hidden" aria-live="polite">
          {search.trim() !== '' && `${found.reduce((sum, { fields }) => sum + fields.length, 0)} options found`}
        </p>
      </div>
      {found.length === 0 && <p class="muted">No option matches “{search}”.</p>}
      {found.map((group) => (
        <OptionGroup
          key={group.title}
          group={group}
          isFirst={group === groups[0]}
          isSearched={search.trim() !== ''}
          messages={messages}
        />
      ))}
    </FormContext.Provider>
  );
}

function filtered(groups: readonly Group[], search: string): readonly Group[] {
  return groups
    .map(({ title, fields }) => ({ title, fields: fields.filter(([name, schema]) => isFound(name, schema, search)) }))
    .filter(({ fields }) => fields.length > 0);
}

/** Whether playground.css places the result below the form. */
export const isNarrow = () => matchMedia('(max-width: 1080px)').matches;

function OptionGroup({
  group: { title, fields },
  isFirst,
  isSearched,
  messages,
}: {
  readonly group: Group;
  readonly isFirst: boolean;
  readonly isSearched: boolean;
  readonly messages: ReadonlyMap<string, string>;
}) {
  const [isOpened, setOpened] = useState(isFirst && !isNarrow());
  const set = fields.filter(([name]) => body.value[name] !== undefined).length;
  const isWrong = fields.some(([name]) =>
    [...messages.keys()].some((key) => key === name || key.startsWith(`${name}.`)),
  );
  useEffect(() => {
    if (isWrong && hiddenProblems.value > 0) setOpened(true);
  }, [hiddenProblems.value]);
  const isOpen = isOpened || isSearched;
  return (
    <details
      class="option-group"
      open={isOpen}
      onToggle={({ currentTarget }) => !isSearched && setOpened(currentTarget.open)}
    >
      <summary>
        <span>{title}</span>
        {isWrong && <span class="badge is-bad">not valid</span>}
        {set > 0 && <span class="badge is-busy">{set} set</span>}
      </summary>
      {/* A closed group renders no fields: each keystroke would render forty invisible ones. */}
      {isOpen && (
        <div class="option-fields">
          {fields.map(([name, schema]) => (
            <Field key={name} path={[name]} schema={schema} value={valueAt(body.value, [name])} onChange={setOption} />
          ))}
        </div>
      )}
    </details>
  );
}

/** The source of the page: an address, or HTML written here. */
function SourceField({ messages }: { readonly messages: ReadonlyMap<string, string> }) {
  const kind = source.value;
  const message = messages.get(kind);
  const choose = (next: 'url' | 'html') => {
    source.value = next;
    refusals.value = new Map();
  };
  return (
    <div class="source">
      <div class="source-head">
        <label class="field-name" for="source">
          {kind === 'url' ? 'Address' : 'HTML'}
        </label>
        <div class="segments" role="group" aria-label="What to capture">
          <button type="button" class="button is-small" aria-pressed={kind === 'url'} onClick={() => choose('url')}>
            Address
          </button>
          <button type="button" class="button is-small" aria-pressed={kind === 'html'} onClick={() => choose('html')}>
            HTML
          </button>
        </div>
      </div>
      {kind === 'url' ? (
        <input
          id="source"
          class="input"
          type="url"
          inputMode="url"
          autocomplete="url"
          spellcheck={false}
          placeholder="https://example.com"
          value={url.value}
          aria-invalid={message !== undefined}
          aria-describedby="source-error"
          onInput={({ currentTarget }) => {
            url.value = currentTarget.value;
            forgetRefusal('url');
          }}
          onBlur={() => (url.value = withScheme(url.value))}
        />
      ) : (
        <CodeEditor
          id="source"
          rows={12}
          placeholder="<h1>Hello</h1>"
          value={html.value}
          isInvalid={message !== undefined}
          describedBy="source-error"
          onChange={(text) => {
            html.value = text;
            forgetRefusal('html');
          }}
        />
      )}
      <p id="source-error" class="field-error" role={message === undefined ? undefined : 'alert'}>
        {message}
      </p>
    </div>
  );
}

/** Adds the scheme, because people type `example.com`. Local servers rarely have a certificate, so they get http. */
export function withScheme(text: string): string {
  const trimmed = text.trim();
  if (/^(localhost|127\.[\d.]+)(:\d+)?([/?#]|$)/.test(trimmed)) return `http://${trimmed}`;
  return /^[\w-]+(\.[\w-]+)+(:\d+)?([/?#]|$)/.test(trimmed) ? `https://${trimmed}` : trimmed;
}
