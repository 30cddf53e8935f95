/** The processes of the product; each starts at `services/<name>/main.ts`. */
export type ServiceName = 'front' | 'controller' | 'renderer';

/**
 * Options of V8. A service works without them, with more memory and processor time.
 *
 * The young generation of the heap may take up 64 MiB by default. A service makes few objects of JavaScript beside many buffers of
 * files and messages, so that young objects were hardly ever collected alone: what buffers take up counts as part of the old generation,
 * and had all of the heap collected instead. With a small young generation the buffers are soon gone.
 */
const nodeOptions: Readonly<Record<ServiceName, readonly string[]>> = {
  front: ['--max-semi-space-size=1'],
  controller: ['--max-semi-space-size=1'],
  renderer: [
    '--max-semi-space-size=4',
    // By default V8 lets garbage grow to three times of what is used. Each capture leaves a quarter of a MiB of strings and buffers that
    // outlive the collections of young objects.
    '--heap-growing-percent=30',
  ],
};

/** The arguments that Node.js runs a service with, in the folder of the project: its options, and the path of the program. */
export function nodeArguments(service: ServiceName): { readonly options: readonly string[]; readonly program: string } {
  return { options: nodeOptions[service], program: `services/${service}/main.ts` };
}
