import { useState } from 'preact/hooks';
import { confirm, Dialog } from '../../widgets/dialog.tsx';
import { toast } from '../../widgets/toast.tsx';
import { body, keepPreset, presets, removePreset, replaceRequest } from './request.ts';
import type { CaptureDocument } from './document.ts';

/** Examples from the OpenAPI document, presets stored in this browser, and a button that clears all options. */
export function PresetBar({ document: { examples, schema } }: { readonly document: CaptureDocument }) {
  const [isNaming, setNaming] = useState(false);
  const isEmpty = Object.keys(body.value).length === 0;
  const load = (choice: string) => {
    const [kind, index] = choice.split(':');
    const chosen = kind === 'example' ? examples[Number(index)]?.value : presets.value[Number(index)]?.body;
    if (chosen !== undefined) replaceRequest(chosen);
  };
  const remove = async (name: string) => {
    const isSure = await confirm({
      title: 'Remove the preset?',
      body: <p class="untrusted">{name}</p>,
      action: 'Remove',
      isDangerous: true,
    });
    if (isSure) removePreset(name);
  };
  return (
    <div class="preset-bar">
      <label class="visually-hidden" for="preset">
        Load an example or a preset
      </label>
      <select
        id="preset"
        class="input"
        value=""
        onChange={({ currentTarget }) => {
          load(currentTarget.value);
          currentTarget.value = '';
        }}
      >
        <option value="">Examples and presets…</option>
        {presets.value.length > 0 && (
          <optgroup label="Presets">
            {presets.value.map(({ name }, index) => (
              <option key={name} value={`preset:${index}`}>
                {name}
              </option>
            ))}
          </optgroup>
        )}
        <optgroup label="Examples">
          {examples.map(({ summary }, index) => (
            <option key={summary} value={`example:${index}`}>
              {summary}
            </option>
          ))}
        </optgroup>
      </select>
      <button type="button" class="button" disabled={isEmpty} onClick={() => setNaming(true)}>
        Save
      </button>
      <button type="button" class="button" disabled={isEmpty} onClick={() => replaceRequest({})}>
        Reset
      </button>
      {isNaming && (
        <Dialog title="Save these options as a preset" onClose={() => setNaming(false)}>
          <PresetNames
            onKeep={(name) => {
              keepPreset(name, body.value, schema);
              setNaming(false);
              toast(`Saved as ${name}`);
            }}
            onRemove={(name) => void remove(name)}
          />
        </Dialog>
      )}
    </div>
  );
}

function PresetNames({
  onKeep,
  onRemove,
}: {
  readonly onKeep: (name: string) => void;
  readonly onRemove: (name: string) => void;
}) {
  const [name, setName] = useState('');
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault();
        if (name.trim() !== '') onKeep(name.trim());
      }}
    >
      <label class="field-label" for="preset-name">
        Name
      </label>
      <input
        id="preset-name"
        class="input"
        maxLength={80}
        autofocus
        value={name}
        onInput={({ currentTarget }) => setName(currentTarget.value)}
      />
      <p class="field-help">Presets stay in this browser. Headers, cookies, passwords and scripts are not saved.</p>
      {presets.value.length > 0 && (
        <ul class="preset-list" aria-label="Presets">
          {presets.value.map((preset) => (
            <li key={preset.name}>
              <span class="untrusted">{preset.name}</span>
              <button type="button" class="button is-small is-danger" onClick={() => onRemove(preset.name)}>
                Remove
              </button>
            </li>
          ))}
        </ul>
      )}
      <div class="dialog-actions">
        <button type="submit" class="button is-primary" disabled={name.trim() === ''}>
          Save
        </button>
      </div>
    </form>
  );
}
