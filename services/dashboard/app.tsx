import type { ComponentChild } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import { BatchPage } from './pages/batch.tsx';
import { CapturePage } from './pages/capture.tsx';
import { CapturesPage } from './pages/captures.tsx';
import { KeysPage } from './pages/keys.tsx';
import { OperatorPage } from './pages/operator.tsx';
import { PlaygroundPage } from './pages/playground/playground.tsx';
import { SessionsPage } from './pages/sessions.tsx';
import { UsagePage } from './pages/usage.tsx';
import { WebhooksPage } from './pages/webhooks.tsx';
import { DialogHost } from './widgets/dialog.tsx';
import { Empty } from './widgets/states.tsx';
import { dismissAll, ToastHost } from './widgets/toast.tsx';
import { OutageMessage } from './shell/outage.tsx';
import { Page } from './shell/page.tsx';
import type { Scope } from './shell/key-scopes.ts';
import {
  isStart,
  linkTo,
  type Route,
  route,
  routeChanges,
  type Section,
  type SectionName,
  sections,
} from './shell/routes.ts';
import { hasScope, type Kind, learnScopes, serviceUrl, sessions, signOut, visit } from './shell/session.ts';
import { SignIn } from './shell/sign-in.tsx';
import { type Theme, theme } from './shell/theme.ts';

export function App() {
  const kind: Kind = route.value.page === 'operator' ? 'admin' : 'key';
  const isSignedIn = sessions[kind].value !== undefined;
  const isAnybody = sessions.key.value !== undefined || sessions.admin.value !== undefined;
  const start = firstPage();
  useEffect(dismissAll, [routeChanges.value]);
  // The scopes are requested on each page until the service has returned them.
  useEffect(() => void learnScopes(), [sessions.key.value, routeChanges.value]);
  useEffect(() => {
    if (sessions.key.value !== undefined && isStart.value && start !== 'playground') location.replace(linkTo(start));
  }, [sessions.key.value, isStart.value, start]);
  return (
    <>
      <a
        class="skip-link"
        href="#main"
        onClick={(event) => {
          // The link must not change the fragment, which contains the route.
          event.preventDefault();
          document.getElementById('main')?.focus();
        }}
      >
        Skip to the content
      </a>
      <div class={isAnybody ? 'frame' : 'frame frame-bare'}>
        <Header hasNavigation={isAnybody} />
        <main id="main" tabIndex={-1}>
          {isAnybody && <OutageMessage />}
          {isSignedIn ? <CurrentPage route={route.value} key={visit[kind].value} /> : <SignIn kind={kind} key={kind} />}
        </main>
      </div>
      <DialogHost />
      <ToastHost />
    </>
  );
}

/** Whether the signed-in key, or the operator, may use a page. */
const mayUse = ({ scope }: Section) => (scope === null ? sessions.admin.value !== undefined : hasScope(scope));

/** The page that the user sees first. */
const firstPage = (): SectionName => sections.find(mayUse)?.name ?? 'playground';

/** The section that contains a page. */
const sectionOf = (page: Route['page']) =>
  sections.find(({ name }) => name === (page === 'capture' || page === 'batch' ? 'captures' : page));

/** Each capture and batch gets a new page instance, so that no state of one appears on the page of another. */
function CurrentPage({ route: { page, ...rest } }: { readonly route: Route }): ComponentChild {
  const section = sectionOf(page);
  if (section !== undefined && section.scope !== null && !hasScope(section.scope)) {
    return <MissingScope title={section.title} scope={section.scope} />;
  }
  switch (page) {
    case 'playground':
      return <PlaygroundPage />;
    case 'captures':
      return <CapturesPage />;
    case 'capture':
      return 'uuid' in rest && <CapturePage uuid={rest.uuid} key={rest.uuid} />;
    case 'batch':
      return 'id' in rest && <BatchPage id={rest.id} key={rest.id} />;
    case 'sessions':
      return <SessionsPage />;
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
            Page not found. Go to the <a href={linkTo(firstPage())}>first page</a>.
          </p>
        </Page>
      );
  }
}

function MissingScope({ title, scope }: { readonly title: string; readonly scope: Scope }) {
  return (
    <Page title={title}>
      <Empty title={`Your key does not have the scope ${scope}`}>
        <p>This page needs it. Sign in with another key, or ask the person who gave you this one.</p>
      </Empty>
    </Page>
  );
}

function Header({ hasNavigation }: { readonly hasNavigation: boolean }) {
  const [isOpen, setOpen] = useState(false);
  const { page } = route.value;
  useEffect(() => setOpen(false), [page]);
  const current = sectionOf(page);
  return (
    <header class="header">
      <div class="header-bar">
        <a class="brand" href={linkTo(firstPage())}>
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
              {sections.filter(mayUse).map((section) => (
                <li key={section.name}>
                  <a href={linkTo(section.name)} aria-current={section === current ? 'page' : undefined}>
                    {section.title}
                  </a>
                </li>
              ))}
            </ul>
          </nav>
        )}
        <div class="header-end">
          <a href={`${serviceUrl}/docs`}>API reference</a>
          {hasNavigation && sessions.admin.value === undefined && <a href={linkTo('operator')}>Sign in as operator</a>}
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
