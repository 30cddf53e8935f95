import { Page } from '../shell/page.tsx';

export function CapturesPage() {
  return <Page title="Captures" />;
}
