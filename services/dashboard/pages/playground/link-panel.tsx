import { type ApiKey, signLink } from '@webcapture/client';
import { optionsWithoutLink } from '@webcapture/shared/api/link-refusals.ts';
import { signal } from '@preact/signals';
import { useEffect, useState } from 'preact/hooks';
import { errorInWords } from '../../shell/errors.ts';
import { client, hasScope, onKeyChange, serviceUrl } from '../../shell/session.ts';
import { confirm } from '../../widgets/dialog.tsx';
import { CodeSample } from '../../widgets/code-sample.tsx';
import { CopyButton } from '../../widgets/copy-button.tsx';
import { toast } from '../../widgets/toast.tsx';
import type { CaptureDocument } from './document.ts';
import type { Body } from './schema.ts';

// These values are stored only in memory. Without them, the user would have to paste the secret again after visiting another page.
const keyId = signal('');
const secret = signal('');

onKeyChange(() => {
  keyId.value = '';
  secret.value = '';
});

const days = [1, 7, 30, 365] as const;

/** Shows a link that returns the picture. The link is signed in the browser. */
export function LinkPanel({ request, document }: { readonly request: Body; readonly document: CaptureDocument }) {
  const [lastsDays, setLastsDays] = useState<number>(7);
  const [link, setLink] = useState<string | undefined>();
  const refused = optionsWithoutLink(request, document.linkRefusals);
  const isReady = keyId.value !== '' && secret.value !== '' && refused.length === 0 && isSecureContext;

  useEffect(() => {
    let isLatest = true;
    const sign = async () => {
      const expires = Math.floor(Date.now() / 1000) + 86_400 * lastsDays;
      const signed = await signLink(serviceUrl, request, { keyId: keyId.value, secret: secret.value, expires });
      if (isLatest) setLink(signed);
    };
    setLink(undefined);
    if (isReady) void sign();
    return () => {
      isLatest = false;
    };
  }, [request, keyId.value, secret.value, lastsDays, isReady]);

  if (!isSecureContext) {
    return <p class="card-body">To sign links, open the dashboard over https or on localhost.</p>;
  }
  if (refused.length > 0) {
    return (
      <p class="card-body">
        A link cannot contain {refused.join(', ')}: anyone with the link can read it and open it any number of times.
      </p>
    );
  }
  return (
    <div class="card-body link-panel">
      <p class="muted">
        The link opens in a browser, an email or an <code>&lt;img&gt;</code>, without a key. This tab signs it with the
        signing secret of a key, and does not send the secret.
      </p>
      <div class="field-row">
        <div class="field">
          <label class="field-name" for="link-key">
            ID of the key
          </label>
          <input
            id="link-key"
            class="input"
            autocomplete="off"
            spellcheck={false}
            value={keyId.value}
            onInput={({ currentTarget }) => (keyId.value = currentTarget.value.trim())}
          />
        </div>
        <div class="field">
          <label class="field-name" for="link-secret">
            Signing secret
          </label>
          <input
            id="link-secret"
            class="input"
            type="password"
            autocomplete="off"
            placeholder="wcs_…"
            value={secret.value}
            onInput={({ currentTarget }) => (secret.value = currentTarget.value.trim())}
          />
        </div>
        <div class="field">
          <label class="field-name" for="link-days">
            Works for
          </label>
          <select
            id="link-days"
            class="input"
            value={lastsDays}
            onChange={({ currentTarget }) => setLastsDays(Number(currentTarget.value))}
          >
            {days.map((each) => (
              <option key={each} value={each}>
                {each} {each === 1 ? 'day' : 'days'}
              </option>
            ))}
          </select>
        </div>
      </div>
      {hasScope('manage') && <NewKey />}
      {link !== undefined && <CodeSample code={link} what="capture link" isWrapped />}
    </div>
  );
}

/** Creates a key that is used only for links, with its signing secret. The key itself is not stored, so it needs no rotation. */
function NewKey() {
  const [isBusy, setBusy] = useState(false);
  const make = async () => {
    const isSure = await confirm({
      title: 'Create a key for links?',
      body: 'The key has only the scope capture. Its links stop working when the key is revoked under Keys.',
      action: 'Create',
    });
    if (!isSure) return;
    setBusy(true);
    try {
      const key: ApiKey = await client().createKey({ name: 'Links', scopes: ['capture'] });
      const made = await client().rotateSigningSecret(key.id, {});
      keyId.value = key.id;
      secret.value = made.secret;
      toast('Key “Links” created. Copy its signing secret if other programs sign links, too.');
    } catch (error) {
      toast(errorInWords(error).message, 'error');
    }
    setBusy(false);
  };
  return (
    <p>
      <button type="button" class="button is-small" disabled={isBusy} onClick={() => void make()}>
        Create a key for links
      </button>{' '}
      {secret.value !== '' && <CopyButton text={secret.value} what="signing secret" />}
    </p>
  );
}
