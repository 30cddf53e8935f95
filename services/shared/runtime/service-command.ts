/** The processes of the product; each starts at `services/<name>/main.ts`. */
export type ServiceName = 'front' | 'controller' | 'renderer';

/**
 * V8 lets the young generation of the heap take up 64 MiB. A service makes few objects of JavaScript beside many buffers of files and
 * messages, so that young objects were hardly ever collected by themselves: buffers count as part of the old generation, and had the
 * whole heap collected instead. With a small young generation they are soon gone (docs/adr/0011).
 */
const youngGeneration = '--max-semi-space-size=2';

/**
 * V8 lets garbage grow to three times of what is used. Each capture leaves a quarter of a MiB of strings and buffers that outlive the
 * collections of young objects.
 */
const heapGrowth = '--heap-growing-percent=30';

const nodeOptions: Readonly<Record<ServiceName, readonly string[]>> = {
  front: [youngGeneration],
  controller: [youngGeneration],
  renderer: [youngGeneration, heapGrowth],
};

/**
 * What Node.js runs a service with: options, without which it works and takes more memory and processor time, and the path of its program
 * in the project.
 */
export function nodeArguments(service: ServiceName): { readonly options: readonly string[]; readonly program: string } {
  return { options: nodeOptions[service], program: `services/${service}/main.ts` };
}
