import type { Capture } from '@webcapture/client';
import { extensions } from '@webcapture/shared/api/formats.ts';
import type { ComponentChildren } from 'preact';
import { formatBytes, formatDuration, formatNumber } from '../../shell/format.ts';
import { linkTo } from '../../shell/routes.ts';
import { CopyButton } from '../../widgets/copy-button.tsx';
import { UntrustedText } from '../../widgets/untrusted-text.tsx';
import { Ago, Time } from '../../widgets/time.tsx';
import { Card } from '../../widgets/card.tsx';

/** Lists the facts of a capture as names and values. */
export function Facts({ capture }: { readonly capture: Capture }) {
  const { uuid, metadata, region } = capture;
  const { viewport, secrets } = metadata;
  return (
    <dl class="facts">
      <Fact name="UUID">
        <code>{uuid}</code> <CopyButton text={uuid} what="UUID" />
      </Fact>
      <Fact name="Address">
        <UntrustedText text={metadata.url === 'about:blank' ? 'Supplied HTML' : metadata.url} max={200} />
      </Fact>
      <Fact name="Format">
        {extensions[metadata.format].toUpperCase()}
        {'width' in metadata && (
          <>
            {metadata.format !== 'none' && `, ${formatNumber(metadata.width)} × ${formatNumber(metadata.height)} px`}
            {`, ${formatBytes(metadata.fileSizeBytes)}`}
          </>
        )}
      </Fact>
      <Fact name="Viewport">
        {viewport.width} × {viewport.height}
        {viewport.deviceScaleFactor !== 1 && ` at ${viewport.deviceScaleFactor}×`}
        {metadata.fullPage && ', full page'}
      </Fact>
      <Fact name="Region">{region}</Fact>
      {'batch' in capture && capture.batch !== undefined && (
        <Fact name="Batch">
          <a href={linkTo('batches', capture.batch)}>{capture.batch}</a>
        </Fact>
      )}
      {'acceptedAt' in capture && (
        <Fact name="Accepted">
          <Time at={capture.acceptedAt} />
        </Fact>
      )}
      {'capturedAt' in metadata && (
        <Fact name="Captured">
          <Time at={metadata.capturedAt} />
        </Fact>
      )}
      {'processingTimeMs' in capture && <Fact name="Duration">{formatDuration(capture.processingTimeMs)}</Fact>}
      <Fact name="Tokens">
        {capture.tokenCost}
        {'refresh' in capture && capture.refresh !== undefined && capture.refresh.tokensCharged > 0 && (
          <> and {formatNumber(capture.refresh.tokensCharged)} for refreshes</>
        )}
      </Fact>
      {'expiresAt' in metadata && capture.status === 'completed' && (
        <Fact name="Expires">
          <Ago at={metadata.expiresAt} />
        </Fact>
      )}
      {'refresh' in capture && typeof capture.refresh?.nextAt === 'string' && (
        <Fact name="Next refresh">
          <Ago at={capture.refresh.nextAt} />
        </Fact>
      )}
      {secrets !== undefined && <Fact name="Sent with">{secretsInWords(secrets)}</Fact>}
      {'webhook' in capture && capture.webhook !== undefined && (
        <Fact name="Webhook">
          <UntrustedText text={capture.webhook.url} max={120} /> ({capture.webhook.state})
        </Fact>
      )}
    </dl>
  );
}

type Secrets = NonNullable<Capture['metadata']['secrets']>;

function secretsInWords({ headers, cookies, auth, css, script, pdfEncryption, stepValues }: Secrets): string {
  const parts = [
    headers.length > 0 && `headers ${headers.join(', ')}`,
    cookies.length > 0 && `cookies ${cookies.join(', ')}`,
    auth && 'a login',
    css && 'CSS',
    script && 'a script',
    pdfEncryption === true && 'passwords of the PDF',
    stepValues === true && 'values of steps',
  ];
  return parts.filter(Boolean).join('; ');
}

/** Lists the options of the request of a capture that differ from the defaults. */
export function RequestOptions({ options }: { readonly options: object }) {
  const rows = rowsOf(options);
  if (rows.length === 0) return null;
  return (
    <Card id="options" title="Options">
      <div class="card-body">
        <dl class="facts is-wide">
          {rows.map(([name, text]) => (
            <Fact key={name} name={name}>
              <UntrustedText text={text} max={200} />
            </Fact>
          ))}
        </dl>
      </div>
    </Card>
  );
}

/** Returns the options with dotted names, as the documentation of the API has them. */
function rowsOf(options: object, prefix = ''): readonly (readonly [name: string, text: string])[] {
  return Object.entries(options).flatMap(([key, value]: [string, unknown]) => {
    const name = `${prefix}${key}`;
    if (typeof value === 'object' && value !== null && !Array.isArray(value)) return rowsOf(value, `${name}.`);
    return [[name, typeof value === 'string' ? value : JSON.stringify(value)] as const];
  });
}

/** A name with its value, in a `<dl class="facts">`. */
function Fact({ name, children }: { readonly name: string; readonly children: ComponentChildren }) {
  return (
    <div>
      <dt>{name}</dt>
      <dd>{children}</dd>
    </div>
  );
}
