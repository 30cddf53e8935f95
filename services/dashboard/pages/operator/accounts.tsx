import type { Account, CreateAccount, NewApiKey } from '@webcapture/client';
import { useState } from 'preact/hooks';
import { formatBytes, formatNumber } from '../../shell/format.ts';
import { useQuery } from '../../shell/query.ts';
import { client } from '../../shell/session.ts';
import { Card } from '../../widgets/card.tsx';
import { type Column, DataTable, RowButton } from '../../widgets/data-table.tsx';
import { confirm } from '../../widgets/dialog.tsx';
import { Badge } from '../../widgets/figures.tsx';
import { UntrustedText } from '../../widgets/untrusted-text.tsx';
import { InputField } from '../../widgets/form.tsx';
import { FormDialog, textOf } from '../../widgets/form-dialog.tsx';
import { SecretDialog } from '../../widgets/secret-dialog.tsx';
import { Loaded } from '../../widgets/states.tsx';
import { Ago } from '../../widgets/time.tsx';
import { toast } from '../../widgets/toast.tsx';
import { errorInWords } from '../../shell/errors.ts';
import { CascadeField, KeyFields, keyBodyOf } from '../keys/key-fields.tsx';

type Step =
  | { readonly kind: 'create' | 'revoke' }
  | { readonly kind: 'change' | 'key'; readonly account: Account }
  | { readonly kind: 'made'; readonly key: NewApiKey };

const admin = () => client('admin').admin;

/** Lists the accounts of the service with their limits. */
export function Accounts() {
  const [step, setStep] = useState<Step>();
  const accounts = useQuery(async (signal) => {
    const found: Account[] = [];
    for await (const account of admin().listAccounts({ limit: 100, signal })) found.push(account);
    return found;
  }, []);
  const done = () => {
    setStep(undefined);
    accounts.reload();
  };
  return (
    <Card
      id="accounts"
      title="Accounts"
      aside={
        <span class="row-actions">
          <button type="button" class="button is-small" onClick={() => setStep({ kind: 'revoke' })}>
            Revoke a key
          </button>
          <button type="button" class="button is-small is-primary" onClick={() => setStep({ kind: 'create' })}>
            Create account
          </button>
        </span>
      }
    >
      <Loaded query={accounts} label="Loading accounts…">
        {(rows) => (
          <DataTable
            caption="Accounts"
            columns={columns(setStep, () => accounts.reload())}
            rows={rows}
            rowKey={({ id }) => id}
            pageSize={20}
            empty={<p class="card-body muted">There are no accounts yet.</p>}
          />
        )}
      </Loaded>
      {step !== undefined && <StepDialog step={step} onStep={setStep} onDone={done} />}
    </Card>
  );
}

const columns = (onStep: (step: Step) => void, onChanged: () => void): readonly Column<Account>[] => [
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
    key: 'state',
    title: 'State',
    sortBy: ({ suspended }) => Number(suspended),
    render: ({ suspended }) => <Badge tone={suspended ? 'bad' : 'good'}>{suspended ? 'suspended' : 'active'}</Badge>,
  },
  {
    key: 'quota',
    title: 'Tokens per month',
    align: 'end',
    sortBy: ({ tokenQuota }) => tokenQuota,
    render: ({ tokenQuota }) => formatNumber(tokenQuota),
  },
  {
    key: 'rate',
    title: 'A minute',
    align: 'end',
    sortBy: ({ ratePerMinute }) => ratePerMinute,
    render: ({ ratePerMinute, burst }) => `${formatNumber(ratePerMinute)}, burst ${formatNumber(burst)}`,
  },
  {
    key: 'flight',
    title: 'In flight',
    align: 'end',
    isMinor: true,
    render: ({ maxInFlight, maxQueued }) => `${formatNumber(maxInFlight)}, queued ${formatNumber(maxQueued)}`,
  },
  {
    key: 'bytes',
    title: 'Stored',
    align: 'end',
    isMinor: true,
    sortBy: ({ maxStoredBytes }) => maxStoredBytes,
    render: ({ maxStoredBytes, maxPersistedBytes }) =>
      `${formatBytes(maxStoredBytes)}, persisted ${formatBytes(maxPersistedBytes)}`,
  },
  {
    key: 'created',
    title: 'Created',
    isMinor: true,
    sortBy: ({ createdAt }) => createdAt,
    render: ({ createdAt }) => <Ago at={createdAt} />,
  },
  {
    key: 'actions',
    title: 'Actions',
    render: (account) => (
      <span class="row-actions">
        <RowButton title="Change" row={account.name} onClick={() => onStep({ kind: 'change', account })} />
        <RowButton title="Create key" row={account.name} onClick={() => onStep({ kind: 'key', account })} />
        <RowButton
          title={account.suspended ? 'Resume' : 'Suspend'}
          row={account.name}
          isDangerous={!account.suspended}
          onClick={() => void changeSuspension(account).then(onChanged)}
        />
      </span>
    ),
  },
];

async function changeSuspension({ id, name, suspended }: Account): Promise<void> {
  const isSure =
    suspended ||
    (await confirm({
      title: 'Suspend this account?',
      body: (
        <>
          All keys of “<UntrustedText text={name} max={80} />” are rejected until you resume the account.
        </>
      ),
      action: 'Suspend',
      isDangerous: true,
    }));
  if (!isSure) return;
  try {
    await admin().changeAccount(id, { suspended: !suspended });
    toast(suspended ? 'Account resumed' : 'Account suspended');
  } catch (error) {
    toast(errorInWords(error).message, 'error');
  }
}

const limits = [
  { name: 'tokenQuota', title: 'Tokens per month', min: 0, max: 1e12 },
  { name: 'ratePerMinute', title: 'Captures per minute', min: 1, max: 1e6 },
  { name: 'burst', title: 'Burst of captures', min: 1, max: 1e6 },
  { name: 'maxInFlight', title: 'Captures in flight', min: 1, max: 1e6 },
  { name: 'maxQueued', title: 'Queued captures', min: 0, max: 1e7 },
  { name: 'maxQueuedBytes', title: 'Bytes of queued HTML', min: 0, max: 1e15 },
  { name: 'maxStoredBytes', title: 'Bytes of files that expire', min: 0, max: 1e15 },
  { name: 'maxPersistedBytes', title: 'Bytes of persisted files', min: 0, max: 1e15 },
] as const;

function AccountFields({ account }: { readonly account?: Account }) {
  return (
    <>
      <InputField label="Name" name="name" required maxLength={200} defaultValue={account?.name ?? ''} autofocus />
      <div class="field-grid">
        {limits.map(({ name, title, min, max }) => (
          <InputField
            key={name}
            label={title}
            type="number"
            name={name}
            min={min}
            max={max}
            required={account !== undefined}
            placeholder="Default"
            defaultValue={account === undefined ? '' : String(account[name])}
          />
        ))}
        <label class="field">
          <span class="field-label">Isolation</span>
          <select class="input" name="isolation">
            {Object.entries(isolations).map(([value, title]) => (
              <option key={value} value={value} selected={value === (account?.isolation ?? 'context')}>
                {title}
              </option>
            ))}
          </select>
        </label>
      </div>
      <label class="check">
        <input type="checkbox" name="allowIgnoreTlsErrors" defaultChecked={account?.allowIgnoreTlsErrors ?? false} />
        <span>Requests may ignore TLS errors (ignoreTlsErrors), if the service allows it</span>
      </label>
    </>
  );
}

const isolations: Readonly<Record<Account['isolation'], string>> = {
  context: 'Shares browsers',
  browser: 'A browser for each capture',
  account: 'Shares browsers and reuses its own pages',
};

/** Returns the values of the fields. An empty limit means the operator's default. */
function accountBodyOf(data: FormData): CreateAccount {
  const given = limits.flatMap(({ name }) => {
    const value = textOf(data, name);
    return value === '' ? [] : [[name, Number(value)] as const];
  });
  return {
    name: textOf(data, 'name'),
    isolation: textOf(data, 'isolation') as Account['isolation'],
    allowIgnoreTlsErrors: data.has('allowIgnoreTlsErrors'),
    ...Object.fromEntries(given),
  };
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
          title="New account"
          action="Create"
          onClose={close}
          onSubmit={async (data) => {
            const account = await admin().createAccount(accountBodyOf(data));
            toast('Account created. Create a key for it.');
            onDone();
            onStep({ kind: 'key', account });
          }}
        >
          <AccountFields />
        </FormDialog>
      );
    case 'change':
      return (
        <FormDialog
          title="Change account"
          action="Save"
          onClose={close}
          onSubmit={async (data) => {
            await admin().changeAccount(step.account.id, accountBodyOf(data));
            toast('Account changed');
            onDone();
          }}
        >
          <AccountFields account={step.account} />
        </FormDialog>
      );
    case 'key':
      return (
        <FormDialog
          key="key"
          title="New key for the account"
          action="Create"
          onClose={close}
          onSubmit={async (data) => {
            const body = { ...keyBodyOf(data), accountId: step.account.id };
            onStep({ kind: 'made', key: await admin().createKey(body) });
          }}
        >
          <p>
            For “<UntrustedText text={step.account.name} max={80} />
            ”.
          </p>
          <KeyFields initialScopes={['capture', 'read', 'manage']} />
        </FormDialog>
      );
    case 'made':
      return <SecretDialog title="The new key" secret={step.key.key} what="key" onClose={onDone} />;
    case 'revoke':
      return (
        <FormDialog
          title="Revoke a key of any account"
          action="Revoke"
          isDangerous
          mainField="id"
          onClose={close}
          onSubmit={async (data) => {
            await admin().revokeKey(textOf(data, 'id'), { cascade: data.has('cascade') });
            toast('Key revoked');
            onDone();
          }}
        >
          <InputField
            label="ID of the key"
            help="The key stops working within a second. This cannot be undone."
            name="id"
            required
            maxLength={64}
            autofocus
          />
          <CascadeField />
        </FormDialog>
      );
  }
}
