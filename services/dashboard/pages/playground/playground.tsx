import { useEffect, useLayoutEffect, useMemo, useRef } from 'preact/hooks';
import { errorInWords, isInvalid, messagesByField } from '../../shell/errors.ts';
import { Page } from '../../shell/page.tsx';
import { routeChanges } from '../../shell/routes.ts';
import { useQuery } from '../../shell/query.ts';
import { CopyButton } from '../../widgets/copy-button.tsx';
import { Loaded } from '../../widgets/states.tsx';
import { isNarrow, RequestForm, withScheme } from './form.tsx';
import './playground.css';
import {
  body,
  hiddenProblems,
  html,
  keepDraft,
  refusals,
  sharedLink,
  source,
  takeLinkedRequest,
  url,
  wholeRequest,
} from './request.ts';
import { ResultPanel } from './result.tsx';
import { type Run, run, start } from './run.ts';
import { Samples } from './samples.tsx';
import { type CaptureDocument, loadDocument } from './document.ts';

/** The run whose error has received the focus. An error gets the focus once, and not each time the user returns to the page. */
let revealed: Run | undefined;

/** The playground: form, result and code samples. */
export function PlaygroundPage() {
  const document = useQuery(loadDocument, []);
  return (
    <Page title="Playground" actions={document.data !== undefined && <CopyLink document={document.data} />}>
      <Loaded query={document} label="Loading the options…">
        {(loaded) => <Playground document={loaded} />}
      </Loaded>
    </Page>
  );
}

function CopyLink({ document: { schema } }: { readonly document: CaptureDocument }) {
  return <CopyButton text={sharedLink(wholeRequest(), schema)} what="link" />;
}

function Playground({ document }: { readonly document: CaptureDocument }) {
  const form = useRef<HTMLFormElement>(null);
  const results = useRef<HTMLDivElement>(null);
  const request = useMemo(wholeRequest, [body.value, source.value, url.value, html.value]);
  const isBlank = request[source.value] === '';
  const messages = useMemo(() => {
    const wrong = new Map(document.validate(request));
    // Empty fields show no error before the first attempt to send the request.
    if (isBlank) wrong.delete(source.value);
    return new Map([...wrong, ...refusals.value]);
  }, [document, request, refusals.value]);

  useLayoutEffect(() => takeLinkedRequest(document.schema), [document, routeChanges.value]);
  useEffect(() => keepDraft(request, document.schema), [document, request]);

  // Messages of the service appear at the field that they name.
  useEffect(() => {
    const { value } = run;
    if (value === revealed) return;
    revealed = value;
    if (value.state === 'failed' && isInvalid(value.error)) {
      const fields = document.schema.properties ?? {};
      refusals.value = messagesByField(errorInWords(value.error).message, (name) => Object.hasOwn(fields, name));
      requestAnimationFrame(() => revealProblem(form.current));
    }
  }, [run.value]);

  const isRunning = run.value.state === 'running';
  const submit = () => {
    if (isRunning) return;
    if (source.value === 'url') url.value = withScheme(url.value);
    const whole = wholeRequest();
    if (whole[source.value] === '') {
      refusals.value = new Map([[source.value, source.value === 'url' ? 'Enter an address.' : 'Write some HTML.']]);
      form.current?.querySelector<HTMLElement>('#source')?.focus();
      return;
    }
    if (document.validate(whole).size > 0) {
      revealProblem(form.current);
      return;
    }
    refusals.value = new Map();
    void start(whole);
    if (isNarrow()) results.current?.scrollIntoView({ block: 'start' });
  };
  const latest = useRef(submit);
  latest.current = submit;
  useEffect(() => {
    const onKey = (event: KeyboardEvent) => {
      if (event.key !== 'Enter' || !(event.ctrlKey || event.metaKey)) return;
      if (globalThis.document.querySelector('dialog[open]') !== null) return;
      event.preventDefault();
      latest.current();
    };
    addEventListener('keydown', onKey);
    return () => removeEventListener('keydown', onKey);
  }, []);

  return (
    <div class="playground">
      <form
        ref={form}
        class="request-form"
        noValidate
        aria-label="Request"
        onSubmit={(event) => {
          event.preventDefault();
          submit();
        }}
      >
        <div class="request-fields">
          <RequestForm document={document} messages={messages} />
        </div>
        <div class="run-bar">
          <button
            type="submit"
            class="button is-primary is-wide"
            disabled={isRunning}
            aria-keyshortcuts="Control+Enter"
          >
            {isRunning ? 'Capturing…' : 'Capture'}
          </button>
        </div>
      </form>
      <div class="results" ref={results}>
        <ResultPanel />
        <Samples request={request} document={document} />
      </div>
    </div>
  );
}

/** Focuses an invalid field, and opens its group if it is closed. */
function revealProblem(form: HTMLFormElement | null): void {
  const focus = () => {
    const field = form?.querySelector<HTMLElement>('[aria-invalid="true"]');
    field?.focus();
    return field !== undefined && field !== null;
  };
  if (focus()) return;
  hiddenProblems.value++;
  // The field appears some frames later, because effects first open the group, and then its fields are rendered.
  const wait = (frames: number) => {
    if (!focus() && frames > 0) requestAnimationFrame(() => wait(frames - 1));
  };
  wait(60);
}
