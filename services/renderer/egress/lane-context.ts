import type { Agent } from 'node:http';
import type { Socket } from 'node:net';
import type { EgressFailure } from '@webcapture/shared/egress/egress-failure.ts';
import type { Connection } from './lane-connections.ts';
import type { Target } from './target.ts';

/** What a lane offers to those who serve the requests in it. */
export interface LaneContext {
  /** Keeps the connections of plain http. */
  readonly agent: Agent;
  /**
   * Connects to a server, if the policy lets it.
   *
   * @throws EgressFailure
   */
  dial(target: Target): Promise<Connection>;
  connectionOf(socket: Socket): Connection | undefined;
  /** Enters a failure in the books. */
  failed(target: Target, failure: EgressFailure): void;
  /** Counts bytes from servers, up to the limit. */
  received(bytes: number): void;
  /** Counts bytes to servers, up to the limit. */
  sent(bytes: number): void;
}
