import type { CreateKey } from '@webcapture/client';
import { FieldError, InputField } from '../../widgets/form.tsx';
import { textOf } from '../../widgets/form-dialog.tsx';

type Scope = NonNullable<CreateKey['scopes']>[number];

const scopes: readonly { readonly name: Scope; readonly title: string; readonly help: string }[] = [
  { name: 'capture', title: 'capture', help: 'create, refresh and delete captures' },
  { name: 'read', title: 'read', help: 'read captures and usage' },
  { name: 'manage', title: 'manage', help: 'create, rotate and revoke keys; webhook secrets' },
];

/** Name, scopes and expiry of a new key. */
export function KeyFields({ initialScopes = ['capture', 'read'] }: { readonly initialScopes?: readonly Scope[] }) {
  return (
    <>
      <InputField label="Name" name="name" required maxLength={200} placeholder="Build server" autofocus />
      <fieldset class="field">
        <legend class="field-label">Scopes</legend>
        {scopes.map(({ name, title, help }) => (
          <label key={name} class="check">
            <input type="checkbox" name="scopes" value={name} defaultChecked={initialScopes.includes(name)} />
            <span>
              <b>{title}</b> <span class="muted">{help}</span>
            </span>
          </label>
        ))}
        <FieldError name="scopes" />
      </fieldset>
      <InputField
        label="Expires"
        help="At the end of this day, UTC. If empty, the key expires when the key that creates it expires."
        type="date"
        name="expiresAt"
        min={tomorrow()}
      />
    </>
  );
}

const tomorrow = () => new Date(Date.now() + 86_400_000).toISOString().slice(0, 10);

/** Returns the values of the fields as the body of the request. */
export function keyBodyOf(data: FormData): CreateKey {
  const chosen = data.getAll('scopes');
  const expires = textOf(data, 'expiresAt');
  return {
    name: textOf(data, 'name'),
    scopes: scopes.map(({ name }) => name).filter((name) => chosen.includes(name)),
    ...(expires === '' ? {} : { expiresAt: `${expires}T23:59:59Z` }),
  };
}

/** Field `cascade` of a form that revokes a key. */
export function CascadeField() {
  return (
    <label class="check">
      <input type="checkbox" name="cascade" />
      <span>Also revoke the keys that were created with it</span>
    </label>
  );
}
