import type { AdminUsage } from '@webcapture/client';
import { useState } from 'preact/hooks';
import { formatNumber } from '../../shell/format.ts';
import { useQuery } from '../../shell/query.ts';
import { client } from '../../shell/session.ts';
import { Card } from '../../widgets/card.tsx';
import { type Column, DataTable } from '../../widgets/data-table.tsx';
import { PeriodSelect } from '../../widgets/period-select.tsx';
import { Loaded } from '../../widgets/states.tsx';
import { UntrustedText } from '../../widgets/untrusted-text.tsx';

type AccountUsage = AdminUsage['accounts'][number];

const maxAccounts = 10;

/** Lists the accounts that use the service most, and what they fail with. */
export function UsageByAccount() {
  const [days, setDays] = useState(7);
  const usage = useQuery((signal) => client('admin').admin.getUsage({ days, limit: maxAccounts, signal }), [days]);
  return (
    <Card
      id="usage-by-account"
      title="Usage by account"
      aside={<PeriodSelect days={days} periods={[1, 7, 30, 90]} onChange={setDays} />}
    >
      <Loaded query={usage} label="Loading the usage…">
        {({ accounts, totals }) => (
          <>
            <DataTable
              caption="Usage of each account"
              columns={columns}
              rows={accounts}
              rowKey={({ account }) => account}
              pageSize={maxAccounts}
              empty={<p class="card-body muted">No account has used the service in this period.</p>}
            />
            {totals.accounts > 0 && <p class="card-body muted">{totalsInWords(totals)}</p>}
          </>
        )}
      </Loaded>
    </Card>
  );
}

function totalsInWords({ accounts, tokens, completed, failed, cached }: AdminUsage['totals']): string {
  const who = accounts === 1 ? '1 account' : `All ${formatNumber(accounts)} accounts`;
  return `${who}: ${formatNumber(tokens)} tokens, ${formatNumber(completed)} completed, ${formatNumber(failed)} failed, ${formatNumber(cached)} cached.`;
}

const number = (key: 'tokens' | 'completed' | 'failed' | 'cached', title: string): Column<AccountUsage> => ({
  key,
  title,
  align: 'end',
  sortBy: (usage) => usage[key],
  render: (usage) => formatNumber(usage[key]),
});

const columns: readonly Column<AccountUsage>[] = [
  {
    key: 'account',
    title: 'Account',
    sortBy: ({ name }) => name,
    render: ({ account, name }) => (
      <>
        {name === null ? 'Removed account' : <UntrustedText text={name} max={80} />}
        <br />
        <code class="muted">{account}</code>
      </>
    ),
  },
  number('tokens', 'Tokens'),
  number('completed', 'Completed'),
  number('failed', 'Failed'),
  number('cached', 'Cached'),
  {
    key: 'failures',
    title: 'Most frequent errors',
    render: ({ failures }) =>
      failures.length === 0
        ? 'None'
        : failures.map(({ code, count }) => (
            <div key={code}>
              <code>{code}</code> {formatNumber(count)}
            </div>
          )),
  },
];
