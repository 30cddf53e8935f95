import { Page } from '../shell/page.tsx';

export function UsagePage() {
  return <Page title="Usage" />;
}
