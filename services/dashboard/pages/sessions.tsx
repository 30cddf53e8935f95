import type { Session } from '@webcapture/client';
import { errorInWords } from '../shell/errors.ts';
import { shellWord } from '../shell/format.ts';
import { Page } from '../shell/page.tsx';
import { useQuery } from '../shell/query.ts';
import { linkTo, linkToPlayground } from '../shell/routes.ts';
import { client, hasScope, serviceUrl } from '../shell/session.ts';
import { Card } from '../widgets/card.tsx';
import { CodeSample } from '../widgets/code-sample.tsx';
import { type Column, DataTable, RowButton } from '../widgets/data-table.tsx';
import { confirm } from '../widgets/dialog.tsx';
import { Empty, Loaded } from '../widgets/states.tsx';
import { Ago } from '../widgets/time.tsx';
import { toast } from '../widgets/toast.tsx';
import { UntrustedText } from '../widgets/untrusted-text.tsx';

const guideUrl = 'https://github.com/webcapture/webcapture/blob/main/docs/guides/login.md';

/** The sessions of the account, which log captures in. */
export function SessionsPage() {
  const sessions = useQuery((signal) => client().listSessions({ signal }), []);
  return (
    <Page
      title="Sessions"
      lead={
        <>
          A session keeps the cookies and the storage that a login left. Captures with the option <code>session</code>{' '}
          are logged in.
        </>
      }
    >
      <Loaded query={sessions} label="Loading sessions…">
        {(rows) => (
          <DataTable
            caption="Sessions"
            columns={columns(sessions.reload)}
            rows={rows}
            rowKey={({ sessionId }) => sessionId}
            empty={<NoSessions />}
          />
        )}
      </Loaded>
    </Page>
  );
}

const columns = (onDeleted: () => void): readonly Column<Session>[] => [
  {
    key: 'name',
    title: 'Name',
    sortBy: ({ name }) => name,
    render: ({ sessionId, name }) => (
      <>
        {name !== null && (
          <>
            <b>
              <UntrustedText text={name} max={80} />
            </b>
            <br />
          </>
        )}
        {/* The capture of the login shows whether the login succeeded. */}
        <a href={linkTo('captures', sessionId)}>
          <code>{sessionId}</code>
        </a>
      </>
    ),
  },
  { key: 'host', title: 'Host', sortBy: ({ url }) => hostOf(url), render: ({ url }) => hostOf(url) },
  {
    key: 'sites',
    title: 'Sites with cookies or storage',
    isMinor: true,
    render: ({ sites }) => <UntrustedText text={sites.join(', ')} max={80} />,
  },
  {
    key: 'created',
    title: 'Created',
    isMinor: true,
    sortBy: ({ createdAt }) => createdAt,
    render: ({ createdAt }) => <Ago at={createdAt} />,
  },
  {
    key: 'expires',
    title: 'Expires',
    sortBy: ({ expiresAt }) => expiresAt,
    render: ({ expiresAt }) => <Ago at={expiresAt} />,
  },
  {
    key: 'actions',
    title: 'Actions',
    render: (session) =>
      hasScope('capture') && (
        <span class="row-actions">
          <a
            class="button is-small"
            aria-label={`Use in playground: ${titleOf(session)}`}
            href={linkToPlayground({ session: session.sessionId })}
          >
            Use in playground
          </a>
          <RowButton
            title="Delete"
            row={titleOf(session)}
            isDangerous
            onClick={() => void deleteSession(session, onDeleted)}
          />
        </span>
      ),
  },
];

const hostOf = (url: string) => URL.parse(url)?.host ?? '';

const titleOf = ({ sessionId, name }: Session) => name ?? sessionId;

async function deleteSession(session: Session, onDeleted: () => void): Promise<void> {
  const isSure = await confirm({
    title: 'Delete this session?',
    body: (
      <>
        Later captures and refreshes that use “
        <UntrustedText text={titleOf(session)} max={80} />” fail. The site is not informed, so the login may remain
        valid there.
      </>
    ),
    action: 'Delete',
    isDangerous: true,
  });
  if (!isSure) return;
  try {
    await client().deleteSession(session.sessionId);
    toast('Session deleted');
  } catch (error) {
    toast(errorInWords(error).message, 'error');
  } finally {
    onDeleted();
  }
}

function NoSessions() {
  return (
    <>
      <Empty title="No sessions">
        Create a session with the API or the command line. The guide{' '}
        <a href={guideUrl} target="_blank" rel="noopener noreferrer">
          Pages behind a login
        </a>{' '}
        explains how.
      </Empty>
      <Card id="create-curl" title="Create a session with curl">
        <CodeSample code={curl} />
      </Card>
      <Card id="create-command" title="Create a session with the command line">
        <CodeSample code={commandLine} />
      </Card>
    </>
  );
}

/** A login by a form, with a line for each step. */
const steps = `"steps": [
    {"type": {"selector": "#user", "text": "ann@example.com"}},
    {"type": {"selector": "#password", "text": "YOUR PASSWORD"}},
    {"click": "button[type=submit]"},
    {"waitFor": "#account"}
  ]`;

const curl = `cat > login.json <<'JSON'
{
  "url": "https://shop.example.com/login",
  "name": "Shop",
  ${steps}
}
JSON
curl -sS --fail-with-body ${shellWord(`${serviceUrl}/sessions`)} \\
  -H "Authorization: Bearer $WEBCAPTURE_API_KEY" \\
  -H 'Content-Type: application/json' \\
  -d @login.json
`;

const commandLine = `cat > login.json <<'JSON'
{
  ${steps}
}
JSON
export WEBCAPTURE_API_KEY WEBCAPTURE_URL=${shellWord(serviceUrl)}
webcapture sessions create https://shop.example.com/login --options login.json --name Shop
`;
