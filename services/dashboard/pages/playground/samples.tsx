import { useMemo, useRef, useState } from 'preact/hooks';
import { serviceUrl } from '../../shell/session.ts';
import { Card } from '../../widgets/card.tsx';
import { CodeSample } from '../../widgets/code-sample.tsx';
import { samplesOf } from './code-samples.ts';
import type { CaptureDocument } from './document.ts';
import { LinkPanel } from './link-panel.tsx';
import type { Body } from './schema.ts';

/** Shows the request as code in each language, and as a link. */
export function Samples({ request, document }: { readonly request: Body; readonly document: CaptureDocument }) {
  const { schema } = document;
  const [chosen, setChosen] = useState(0);
  const samples = samplesOf(serviceUrl, request, schema);
  const titles = [...samples.map(({ title }) => title), 'Link'];
  const tabs = useRef<HTMLDivElement>(null);
  const go = (index: number) => {
    const next = (index + titles.length) % titles.length;
    setChosen(next);
    tabs.current?.querySelectorAll('button')[next]?.focus();
  };
  const sample = samples[chosen];
  const code = useMemo(() => sample?.code() ?? '', [request, schema, chosen]);
  return (
    <Card
      id="samples-title"
      title="Request"
      aside={
        <div
          ref={tabs}
          class="segments"
          role="tablist"
          aria-labelledby="samples-title"
          onKeyDown={({ key }) => {
            if (key === 'ArrowRight') go(chosen + 1);
            if (key === 'ArrowLeft') go(chosen - 1);
          }}
        >
          {titles.map((title, index) => (
            <button
              key={title}
              type="button"
              role="tab"
              id={`sample-tab-${index}`}
              class="button is-small"
              aria-selected={index === chosen}
              aria-controls="sample"
              tabIndex={index === chosen ? 0 : -1}
              onClick={() => setChosen(index)}
            >
              {title}
            </button>
          ))}
        </div>
      }
    >
      <div id="sample" role="tabpanel" aria-labelledby={`sample-tab-${chosen}`}>
        {sample === undefined ? (
          <LinkPanel request={request} document={document} />
        ) : (
          <>
            <CodeSample code={code} />
            {sample.install !== undefined && (
              <p class="card-body sample-install">
                Install the client from a release: <code>{sample.install.fromRelease}</code> Or from a checkout of the
                repository: <code>{sample.install.fromCheckout}</code>
              </p>
            )}
          </>
        )}
      </div>
    </Card>
  );
}
