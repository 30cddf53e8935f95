import type { Agent } from 'node:https';

/** Where the API server is, and how to be let in. */
export interface KubeAccess {
  readonly server: URL;
  readonly namespace: string;
  readonly agent: Agent;
  /** The headers of one request: tokens are rotated. */
  headers(): Promise<Record<string, string>>;
}

/** Reads the access anew. Throws an Error that says what is missing. */
export type LoadAccess = () => Promise<KubeAccess>;
