import { Card } from '../../widgets/card.tsx';
import { Fact } from '../../widgets/fact.tsx';
import { UntrustedText } from '../../widgets/untrusted-text.tsx';

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
