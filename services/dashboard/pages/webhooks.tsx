import type { WebhookSecret } from '@webcapture/client';
import { useState } from 'preact/hooks';
import { Page } from '../shell/page.tsx';
import { useQuery } from '../shell/query.ts';
import { client } from '../shell/session.ts';
import { Card } from '../widgets/card.tsx';
import { CopyButton } from '../widgets/copy-button.tsx';
import { Form, InputField } from '../widgets/form.tsx';
import { FormDialog, GraceField, graceSecondsOf, textOf } from '../widgets/form-dialog.tsx';
import { ErrorState, Loaded } from '../widgets/states.tsx';
import { Time } from '../widgets/time.tsx';
import { toast } from '../widgets/toast.tsx';
import { Deliveries } from '../views/deliveries.tsx';

const refreshMs = 5000;

/** Shows the webhook secret, a test form and recent deliveries. */
export function WebhooksPage() {
  const deliveries = useQuery((signal) => client().listWebhookDeliveries({ limit: 100, signal }), [], {
    everyMs: refreshMs,
  });
  return (
    <Page
      title="Webhooks"
      lead="When a background capture with a webhook ends, the service sends the webhook a signed event."
    >
      <SecretCard />
      <TestCard onSent={deliveries.reload} />
      <Card id="deliveries" title="Recent deliveries">
        <Loaded query={deliveries} label="Loading deliveries…">
          {(data) => (
            <Deliveries
              deliveries={data}
              hasCapture
              onRedeliver={deliveries.reload}
              empty={<p class="card-body muted">No deliveries yet.</p>}
            />
          )}
        </Loaded>
      </Card>
    </Page>
  );
}

function SecretCard() {
  const [secret, setSecret] = useState<WebhookSecret>();
  const [error, setError] = useState<unknown>();
  const [isRotating, setRotating] = useState(false);
  const show = async () => {
    try {
      setSecret(await client().getWebhookSecret());
      setError(undefined);
    } catch (thrown) {
      setError(thrown);
    }
  };
  return (
    <Card
      id="secret"
      title="Secret"
      aside={
        <span class="row-actions">
          <button
            type="button"
            class="button is-small"
            aria-expanded={secret !== undefined}
            onClick={() => (secret === undefined ? void show() : setSecret(undefined))}
          >
            {secret === undefined ? 'Show' : 'Hide'}
          </button>
          <button type="button" class="button is-small" onClick={() => setRotating(true)}>
            Rotate
          </button>
        </span>
      }
    >
      <div class="card-body">
        {error !== undefined && <ErrorState error={error} onRetry={() => void show()} />}
        {secret === undefined ? (
          <p class="muted">
            Receivers verify events with the secret, as Standard Webhooks describes. It is hidden until you show it.
          </p>
        ) : (
          <Secrets secret={secret} />
        )}
      </div>
      {isRotating && (
        <FormDialog
          title="Rotate the webhook secret?"
          action="Rotate"
          onClose={() => setRotating(false)}
          onSubmit={async (data) => {
            setSecret(await client().rotateWebhookSecret({ graceSeconds: graceSecondsOf(data) }));
            setRotating(false);
            toast('Webhook secret rotated');
          }}
        >
          <p>
            While the old secret works, events carry both signatures, so that receivers can switch without losing
            events.
          </p>
          <GraceField label="The old secret" initial="86400" />
        </FormDialog>
      )}
    </Card>
  );
}

function Secrets({ secret: { secret, previous } }: { readonly secret: WebhookSecret }) {
  return (
    <>
      <p class="secret-value">
        <code>{secret}</code> <CopyButton text={secret} what="secret" />
      </p>
      {previous.map((old) => (
        <p key={old.secret} class="muted">
          Signs until <Time at={old.signsUntil} />: <code>{old.secret}</code>
        </p>
      ))}
    </>
  );
}

function TestCard({ onSent }: { readonly onSent: () => void }) {
  const send = async (data: FormData) => {
    try {
      await client().sendTestEvent({ url: textOf(data, 'url') });
      toast('Test event sent. Its result appears in the deliveries.');
    } finally {
      onSent();
    }
  };
  return (
    <Card id="test" title="Test event">
      <Form class="card-body test-form" mainField="url" onSubmit={send}>
        {(isBusy) => (
          <>
            <InputField
              label="Address of the receiver"
              type="url"
              name="url"
              required
              maxLength={2048}
              placeholder="https://example.com/hooks"
            />
            <button type="submit" class="button" disabled={isBusy}>
              Send a test event
            </button>
          </>
        )}
      </Form>
    </Card>
  );
}
