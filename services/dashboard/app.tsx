import type { ComponentChild } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import { CapturePage } from './pages/capture.tsx';
import { CapturesPage } from './pages/captures.tsx';
import { KeysPage } from './pages/keys.tsx';
import { OperatorPage } from './pages/operator.tsx';
import { PlaygroundPage } from './pages/playground/playground.tsx';
import { UsagePage } from './pages/usage.tsx';
import { WebhooksPage } from './pages/webhooks.tsx';
import { DialogHost } from './widgets/dialog.tsx';
import { ToastHost } from './widgets/toast.tsx';
import { OutageNotice } from './shell/outage.tsx';
import { Page } from './shell/page.tsx';
import { linkTo, type Route, route, type SectionName, sections } from './shell/routes.ts';
import { type Kind, serviceUrl, sessions, signOut, visit } from './shell/session.ts';
import { SignIn } from './shell/sign-in.tsx';
import { type Theme, theme } from './shell/theme.ts';

export function App() {
  const kind: Kind = route.value.page === 'operator' ? 'admin' : 'key';
  const isSignedIn = sessions[kind].value !== undefined;
  const isAnybody = sessions.key.value !== undefined || sessions.admin.value !== undefined;
  return (
    <>
      <a
        class="skip-link"
        href="#main"
        onClick={(event) => {
          // The fragment is the route.
          event.preventDefault();
          document.getElementById('main')?.focus();
        }}
      >
        Skip to the content
      </a>
      <div class={isAnybody ? 'frame' : 'frame frame-bare'}>
        <Header hasNavigation={isAnybody} />
        <main id="main" tabIndex={-1}>
          {isAnybody && <OutageNotice />}
          {isSignedIn ? <CurrentPage route={route.value} key={visit[kind].value} /> : <SignIn kind={kind} key={kind} />}
        </main>
      </div>
      <DialogHost />
      <ToastHost />
    </>
  );
}

/** Each capture gets a new page instance, so no state of one capture appears on the page of another. */
function CurrentPage({ route: { page, ...rest } }: { readonly route: Route }): ComponentChild {
  switch (page) {
    case 'playground':
      return <PlaygroundPage />;
    case 'captures':
      return <CapturesPage />;
    case 'capture':
      return 'uuid' in rest && <CapturePage uuid={rest.uuid} key={rest.uuid} />;
    case 'usage':
      return <UsagePage />;
    case 'keys':
      return <KeysPage />;
    case 'webhooks':
      return <WebhooksPage />;
    case 'operator':
      return <OperatorPage />;
    case 'unknown':
      return (
        <Page title="Not found">
          <p>
            Page not found. Go to the <a href={linkTo('playground')}>playground</a>.
          </p>
        </Page>
      );
  }
}

function Header({ hasNavigation }: { readonly hasNavigation: boolean }) {
  const [isOpen, setOpen] = useState(false);
  const { page } = route.value;
  useEffect(() => setOpen(false), [page]);
  const current: SectionName | undefined = page === 'capture' ? 'captures' : page === 'unknown' ? undefined : page;
  return (
    <header class="header">
      <div class="header-bar">
        <a class="brand" href={linkTo('playground')}>
          <img src="./icon.svg" alt="" width="22" height="22" />
          webcapture
        </a>
        {hasNavigation && (
          <button
            type="button"
            class="button menu-button"
            aria-expanded={isOpen}
            aria-controls="navigation"
            onClick={() => setOpen(!isOpen)}
          >
            Menu
          </button>
        )}
      </div>
      <div id="navigation" class={isOpen ? 'header-body is-open' : 'header-body'}>
        {hasNavigation && (
          <nav aria-label="Pages">
            <ul>
              {sections.map(({ name, title }) => (
                <li key={name}>
                  <a href={linkTo(name)} aria-current={name === current ? 'page' : undefined}>
                    {title}
                  </a>
                </li>
              ))}
            </ul>
          </nav>
        )}
        <div class="header-end">
          <a href={`${serviceUrl}/docs`}>API reference</a>
          <ThemeChoice />
          {sessions.key.value !== undefined && (
            <button type="button" class="button is-quiet" onClick={() => signOut('key')}>
              Sign out
            </button>
          )}
          {sessions.admin.value !== undefined && (
            <button type="button" class="button is-quiet" onClick={() => signOut('admin')}>
              Sign out as operator
            </button>
          )}
        </div>
      </div>
    </header>
  );
}

const themes: Readonly<Record<Theme, string>> = { system: 'System', light: 'Light', dark: 'Dark' };

function ThemeChoice() {
  return (
    <label class="theme-choice">
      <span>Theme</span>
      <select value={theme.value} onChange={({ currentTarget }) => (theme.value = currentTarget.value as Theme)}>
        {Object.entries(themes).map(([value, title]) => (
          <option key={value} value={value}>
            {title}
          </option>
        ))}
      </select>
    </label>
  );
}
