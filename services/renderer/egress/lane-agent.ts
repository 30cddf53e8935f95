import http, { type ClientRequestArgs } from 'node:http';
import type { Duplex } from 'node:stream';
import { EgressFailure, toEgressFailure } from '@webcapture/shared/egress/egress-failure.ts';
import type { LaneDialler } from './lane-dialler.ts';
import { targetOfAuthority, type Target } from './target.ts';

/** Keeps a lane's plain http connections, made by its dialler and by nothing else. */
export class LaneAgent extends http.Agent {
  readonly #dialler: LaneDialler;

  constructor(dialler: LaneDialler) {
    // Idle connections count towards the lane's most; a timeout of the agent ends none but those.
    super({ keepAlive: true, maxFreeSockets: 6, timeout: 4000 });
    this.#dialler = dialler;
  }

  override createConnection(
    { host, port }: ClientRequestArgs,
    callback?: (error: Error | null, stream: Duplex) => void,
  ): undefined {
    // On failure Node calls the callback with the error alone; its type does not know that.
    const done = callback as ((error: Error | null, stream?: Duplex) => void) | undefined;
    const target = targetOfAuthority(`${host}:${port}`);
    if (target === undefined) throw new TypeError('the agent was handed a request without a target');
    void this.#dial(target, done);
  }

  async #dial(target: Target, done: ((error: Error | null, stream?: Duplex) => void) | undefined): Promise<void> {
    const dialled = await this.#dialler.dial(target).catch(toEgressFailure);
    if (dialled instanceof EgressFailure) done?.(dialled);
    else done?.(null, dialled.socket);
  }
}
