// `npm run --silent sbom > sbom.json`: the npm packages of the services as a CycloneDX bill of materials.
import { execFile } from 'node:child_process';
import process from 'node:process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

interface Component {
  readonly 'bom-ref': string;
  readonly properties?: readonly { readonly name: string; readonly value: string }[];
}

interface Bom {
  readonly metadata: { readonly component: Component };
  readonly components: readonly Component[];
  readonly dependencies: readonly { readonly ref: string; readonly dependsOn: readonly string[] }[];
}

const root = fileURLToPath(new URL('../..', import.meta.url));
const { stdout } = await promisify(execFile)('npm', ['sbom', '--sbom-format', 'cyclonedx'], {
  cwd: root,
  maxBuffer: 64 * 1024 * 1024,
});
const all = JSON.parse(stdout) as Bom;
// With `--omit dev`, npm omits packages that both the services and the tests need: Playwright and sharp.
const isForDevelopment = ({ properties = [] }: Component) =>
  properties.some(({ name, value }) => name === 'cdx:npm:package:development' && value === 'true');
const components = all.components.filter((component) => !isForDevelopment(component));
const kept = new Set([all.metadata.component, ...components].map((component) => component['bom-ref']));
const dependencies = all.dependencies
  .filter(({ ref }) => kept.has(ref))
  .map(({ ref, dependsOn }) => ({ ref, dependsOn: dependsOn.filter((other) => kept.has(other)) }));
const component = { ...all.metadata.component, name: 'webcapture' };
const bom = { ...all, metadata: { ...all.metadata, component }, components, dependencies };
process.stdout.write(`${JSON.stringify(bom, null, 2)}\n`);
