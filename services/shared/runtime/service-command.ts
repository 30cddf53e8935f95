/** The processes of the product. Each starts with `services/<name>/main.ts`. */
export type ServiceName = 'front' | 'controller' | 'renderer';

/**
 * V8's garbage collection options of a service (docs/adr/0011). A service creates few JavaScript objects, but many buffers of files and
 * messages, which count as old generation.
 *
 * By default, the young generation may grow to 64 MiB. Young objects were then rarely collected separately; instead, buffers caused
 * collections of the whole heap. With a small young generation, young objects are collected soon.
 *
 * V8 adapts how much the old generation may grow before a collection. It allowed up to three times what a renderer uses, which is 170 MiB
 * more than it needs. In other cases it allowed so little that a front collected its whole heap 10 to 18 times in 100 captures.
 */
const options: readonly string[] = ['--max-semi-space-size=2', '--heap-growing-percent=60'];

/**
 * Returns the arguments of Node.js for a service: options, and the path of its program in the project. Without the options, the service
 * works but takes more memory and processor time.
 */
export function nodeArguments(service: ServiceName): { readonly options: readonly string[]; readonly program: string } {
  return { options, program: `services/${service}/main.ts` };
}
