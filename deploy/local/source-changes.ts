import type { ServiceName } from '@webcapture/shared/runtime/service-command.ts';

/** The effect of an edit. */
export interface Affected {
  /** Services that must be restarted. */
  readonly services: ReadonlySet<ServiceName>;
  /** Whether the dashboard may need a build. */
  readonly dashboard: boolean;
}

const services: readonly ServiceName[] = ['front', 'controller', 'renderer'];

/** Files that are not sources: build output, installed packages, documents, and temporary files of editors. */
const noSource = /(^|\/)(node_modules|dist|\.[^/]*|4913)(\/|$)|(~|\.md|\.tmp|\.swp)$/;

/** Returns what the changed files affect. Paths are relative to `services/`, with slashes. */
export function affectedBy(paths: Iterable<string>): Affected {
  const folders = new Set([...paths].filter(isSource).map((path) => path.slice(0, path.indexOf('/'))));
  return {
    services: new Set(services.filter((service) => folders.has(service) || folders.has('shared'))),
    dashboard: ['dashboard', 'client', 'shared'].some((folder) => folders.has(folder)),
  };
}

/** Describes an edit in a few words. Paths are those of {@link affectedBy}. */
export function describeEdit(paths: readonly string[]): string {
  const [first = '', ...others] = paths.filter(isSource);
  return `services/${first}${others.length > 0 ? ` and ${others.length} more` : ''}`;
}

/** Whether the content of a file can change what a service does. */
const isSource = (path: string): boolean => path.includes('/') && !noSource.test(path);
