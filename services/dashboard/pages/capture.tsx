import { Page } from '../shell/page.tsx';

export function CapturePage({ uuid }: { readonly uuid: string }) {
  return <Page title="Capture" lead={uuid} />;
}
