/** The processes of the product; each starts at `services/<name>/main.ts`. */
export type ServiceName = 'front' | 'controller' | 'renderer';

/**
 * What V8 is told of a service's garbage (docs/adr/0011). A service makes few objects of JavaScript beside many buffers of files and messages,
 * which count as part of the old generation.
 *
 * V8 lets the young generation take up 64 MiB, so that young objects were hardly ever collected by themselves: buffers had the whole heap
 * collected instead. With a small young generation they are soon gone.
 *
 * V8 decides from what it has seen by how much the old generation may grow before it is collected: by three times of what a renderer uses,
 * 170 MiB more than it needs, or so little that a front collected its whole heap 10 to 18 times in 100 captures.
 */
const options: readonly string[] = ['--max-semi-space-size=2', '--heap-growing-percent=60'];

/**
 * What Node.js runs a service with: options, without which it works and takes more memory and processor time, and the path of its program
 * in the project.
 */
export function nodeArguments(service: ServiceName): { readonly options: readonly string[]; readonly program: string } {
  return { options, program: `services/${service}/main.ts` };
}
