import { type ApiKey, type NewApiKey, type SigningSecret } from '@webcapture/client';
import { useState } from 'preact/hooks';
import { Page } from '../shell/page.tsx';
import { useQuery } from '../shell/query.ts';
import { client, exchangeSecret } from '../shell/session.ts';
import { type Column, DataTable, RowButton } from '../widgets/data-table.tsx';
import { Badge } from '../widgets/figures.tsx';
import { UntrustedText } from '../widgets/untrusted-text.tsx';
import { FormDialog, GraceField, graceSecondsOf } from '../widgets/form-dialog.tsx';
import { SecretDialog } from '../widgets/secret-dialog.tsx';
import { Empty, Loaded } from '../widgets/states.tsx';
import { Ago, Time } from '../widgets/time.tsx';
import { toast } from '../widgets/toast.tsx';
import { CascadeField, KeyFields, keyBodyOf } from './keys/key-fields.tsx';

type Step =
  | { readonly kind: 'create' }
  | { readonly kind: 'rotate' | 'revoke' | 'sign'; readonly key: ApiKey }
  | { readonly kind: 'made'; readonly key: NewApiKey; readonly isRotated: boolean }
  | { readonly kind: 'signed'; readonly secret: SigningSecret };

/** The API keys of the account. */
export function KeysPage() {
  const keys = useQuery(async (signal) => {
    const found: ApiKey[] = [];
    for await (const key of client().listKeys({ limit: 100, signal })) found.push(key);
    return found;
  }, []);
  const [step, setStep] = useState<Step>();
  const done = () => {
    setStep(undefined);
    keys.reload();
  };
  return (
    <Page
      title="Keys"
      lead="Anyone with a key can use this account within the scopes of the key."
      actions={
        <button type="button" class="button is-primary" onClick={() => setStep({ kind: 'create' })}>
          Create key
        </button>
      }
    >
      <Loaded query={keys} label="Loading keys…">
        {(rows) => (
          <DataTable
            caption="API keys"
            columns={columns((next) => setStep(next))}
            rows={rows}
            rowKey={({ id }) => id}
            empty={<Empty title="No keys" />}
          />
        )}
      </Loaded>
      {step !== undefined && <StepDialog step={step} onStep={setStep} onDone={done} />}
    </Page>
  );
}

const columns = (onStep: (step: Step) => void): readonly Column<ApiKey>[] => [
  {
    key: 'name',
    title: 'Name',
    sortBy: ({ name }) => name,
    render: ({ id, name }) => (
      <>
        <b>
          <UntrustedText text={name} max={80} />
        </b>
        <br />
        <code class="muted">{id}</code>
      </>
    ),
  },
  {
    key: 'status',
    title: 'Status',
    sortBy: ({ status }) => status,
    render: ({ status }) => <Badge tone={status === 'active' ? 'good' : 'plain'}>{status}</Badge>,
  },
  { key: 'scopes', title: 'Scopes', render: ({ scopes }) => scopes.join(', ') },
  {
    key: 'created',
    title: 'Created',
    isMinor: true,
    sortBy: ({ createdAt }) => createdAt,
    render: ({ createdAt }) => <Ago at={createdAt} />,
  },
  { key: 'ends', title: 'Expires', sortBy: ({ expiresAt }) => expiresAt, render: (key) => <End {...key} /> },
  {
    key: 'actions',
    title: 'Actions',
    render: (key) =>
      key.status === 'active' && (
        <span class="row-actions">
          <RowButton title="Rotate" row={key.name} onClick={() => onStep({ kind: 'rotate', key })} />
          <RowButton title="Signing secret" row={key.name} onClick={() => onStep({ kind: 'sign', key })} />
          <RowButton title="Revoke" row={key.name} isDangerous onClick={() => onStep({ kind: 'revoke', key })} />
        </span>
      ),
  },
];

function End({ status, expiresAt, revokedAt }: ApiKey) {
  if (status === 'revoked') {
    return (
      <>
        revoked <Time at={revokedAt} />
      </>
    );
  }
  return expiresAt === null ? <>never</> : <Time at={expiresAt} />;
}

function StepDialog({
  step,
  onStep,
  onDone,
}: {
  readonly step: Step;
  readonly onStep: (step: Step | undefined) => void;
  readonly onDone: () => void;
}) {
  const close = () => onStep(undefined);
  switch (step.kind) {
    case 'create':
      return (
        <FormDialog
          title="New key"
          action="Create"
          onClose={close}
          onSubmit={async (data) => {
            onStep({ kind: 'made', key: await client().createKey(keyBodyOf(data)), isRotated: false });
          }}
        >
          <KeyFields />
        </FormDialog>
      );
    case 'rotate':
      return (
        <FormDialog
          title="Rotate this key?"
          action="Rotate"
          onClose={close}
          onSubmit={async (data) => {
            const key = await client().rotateKey(step.key.id, { graceSeconds: graceSecondsOf(data) });
            onStep({ kind: 'made', key, isRotated: true });
          }}
        >
          <p>
            A new key with the same scopes replaces “<UntrustedText text={step.key.name} max={80} />
            ”. If the old key has leaked, choose “Stops working immediately”.
          </p>
          <GraceField label="The old key" initial="3600" />
        </FormDialog>
      );
    case 'sign':
      return (
        <FormDialog
          title="Create a signing secret?"
          action="Create secret"
          onClose={close}
          onSubmit={async (data) => {
            const graceSeconds = graceSecondsOf(data);
            onStep({ kind: 'signed', secret: await client().rotateSigningSecret(step.key.id, { graceSeconds }) });
          }}
        >
          <p>
            The secret signs capture links for “<UntrustedText text={step.key.name} max={80} />
            ”, which embed pictures in web pages. It replaces the previous secret, if there is one.
          </p>
          <GraceField label="The previous secret" initial="86400" />
        </FormDialog>
      );
    case 'revoke':
      return (
        <FormDialog
          title="Revoke this key?"
          action="Revoke"
          isDangerous
          onClose={close}
          onSubmit={async (data) => {
            const { alsoRevoked = [] } = await client().revokeKey(step.key.id, { cascade: data.has('cascade') });
            toast(alsoRevoked.length === 0 ? 'Key revoked' : `${alsoRevoked.length + 1} keys revoked`);
            onDone();
          }}
        >
          <p>
            “<UntrustedText text={step.key.name} max={80} />” and its signed links stop working within a second. This
            cannot be undone. If you are signed in with this key, you are signed out.
          </p>
          <CascadeField />
        </FormDialog>
      );
    case 'made':
      return (
        <SecretDialog title="The new key" secret={step.key.key} what="key" onClose={onDone}>
          {step.isRotated && (
            <p>
              Are you signed in with the old key?{' '}
              <button
                type="button"
                class="button is-small"
                onClick={() => {
                  exchangeSecret('key', step.key.key);
                  toast('Signed in with the new key');
                }}
              >
                Sign in with the new key
              </button>
            </p>
          )}
        </SecretDialog>
      );
    case 'signed':
      return (
        <SecretDialog title="The signing secret" secret={step.secret.secret} what="signing secret" onClose={onDone}>
          <p>
            Links name the key by its ID, <code>{step.secret.keyId}</code>.
            {step.secret.previousUntil !== null && (
              <>
                {' '}
                Earlier links work until <Time at={step.secret.previousUntil} />.
              </>
            )}
          </p>
        </SecretDialog>
      );
  }
}
