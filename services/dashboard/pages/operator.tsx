import { Page } from '../shell/page.tsx';

export function OperatorPage() {
  return <Page title="Operator" />;
}
