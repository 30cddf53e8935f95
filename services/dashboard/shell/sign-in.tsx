import { useLayoutEffect, useRef, useState } from 'preact/hooks';
import { errorInWords } from './errors.ts';
import { Page } from './page.tsx';
import { linkTo } from './routes.ts';
import { type Kind, signIn, signInMessages } from './session.ts';

const texts = {
  key: {
    title: 'Sign in',
    label: 'API key',
    help: 'It stays in this browser tab and is forgotten when the tab is closed.',
    unknown: 'This key does not exist.',
    missing: 'Enter an API key.',
  },
  admin: {
    title: 'Sign in as operator',
    label: 'Admin token',
    help: 'The value of WEBCAPTURE_ADMIN_TOKEN. It stays in this browser tab and is forgotten when the tab is closed.',
    unknown: 'This is not the admin token.',
    missing: 'Enter the admin token.',
  },
} as const;

export function SignIn({ kind }: { readonly kind: Kind }) {
  const [secret, setSecret] = useState('');
  const [error, setError] = useState<string | undefined>();
  const [isBusy, setBusy] = useState(false);
  const field = useRef<HTMLInputElement>(null);
  // Runs after the page's own effect, which focuses the title. `autofocus` works only while the document loads.
  useLayoutEffect(() => field.current?.focus(), []);
  const { title, label, help, missing } = texts[kind];
  const message = signInMessages[kind].value;

  const submit = async () => {
    if (secret.trim() === '') {
      setError(missing);
      return;
    }
    setBusy(true);
    try {
      await signIn(kind, secret);
    } catch (failure) {
      setError(signInError(kind, failure));
      setBusy(false);
    }
  };

  return (
    <div class="sign-in">
      <Page title={title}>
        {message && (
          <p class="message is-warning" role="alert">
            {message}
          </p>
        )}
        {/* The form has no action or method that could send the key as part of an address: the policy forbids both. */}
        <form
          noValidate
          onSubmit={(event) => {
            event.preventDefault();
            void submit();
          }}
        >
          <label class="field-label" for="secret">
            {label}
          </label>
          <input
            id="secret"
            type="password"
            class="input"
            autocomplete="off"
            spellcheck={false}
            ref={field}
            value={secret}
            aria-invalid={error !== undefined}
            aria-describedby="secret-help secret-error"
            onInput={({ currentTarget }) => setSecret(currentTarget.value)}
          />
          <p id="secret-error" class="field-error" role="alert">
            {error}
          </p>
          <p id="secret-help" class="field-help">
            {help}
          </p>
          <button type="submit" class="button is-primary is-wide" disabled={isBusy}>
            {isBusy ? 'Signing in…' : 'Sign in'}
          </button>
        </form>
        <p class="sign-in-other">
          {kind === 'key' ? (
            <a href={linkTo('operator')}>Sign in as operator</a>
          ) : (
            <a href={linkTo('playground')}>Sign in with an API key</a>
          )}
        </p>
      </Page>
    </div>
  );
}

function signInError(kind: Kind, error: unknown): string {
  const { message, code } = errorInWords(error);
  if (kind === 'admin' && code === 'NOT_FOUND') {
    return 'This service has no admin token. Set WEBCAPTURE_ADMIN_TOKEN for the front and restart it.';
  }
  return code === 'UNAUTHORIZED' ? texts[kind].unknown : message;
}
