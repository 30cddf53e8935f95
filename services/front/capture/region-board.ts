import type { InstalledRegion } from '@webcapture/shared/config/regions.ts';
import type { Region } from '@webcapture/shared/contract/regions.ts';
import { heartbeatIntervalMs } from '@webcapture/shared/contract/heartbeat.ts';
import { ServiceError } from '@webcapture/shared/errors/service-error.ts';
import { delay } from '@webcapture/shared/lifecycle/delay.ts';
import type { Fleet } from '@webcapture/shared/state/fleet.ts';
import type { NatsLink } from '../nats-link.ts';
import { chooseRegion, type RegionLoad } from './choose-region.ts';
import { estimateWaitSeconds } from './estimate-wait.ts';
import type { InFlight } from './in-flight.ts';

/** After a connection came up, every renderer that lives has said so by then. */
const settleMs = 1.5 * heartbeatIntervalMs;

const pollMs = 25;

export interface RegionBoardDeps {
  readonly installed: readonly InstalledRegion[];
  readonly home: Region;
  readonly fleet: Pick<Fleet, 'load'>;
  readonly inFlight: InFlight;
  /** Captures that wait, by region. */
  readonly queued: () => Readonly<Record<string, number>>;
  readonly link: Pick<NatsLink, 'upForMs'>;
}

/** The regions as this front sees them now. */
export class RegionBoard {
  readonly #deps: RegionBoardDeps;

  constructor(deps: RegionBoardDeps) {
    this.#deps = deps;
  }

  /**
   * The region that a capture is queued in. Refuses at once, unless the connection has just come up and the renderers
   * have not all been heard yet.
   *
   * @throws ServiceError REGION_UNAVAILABLE
   */
  async choose(asked: 'auto' | Region): Promise<Region> {
    const end = performance.now() + settleMs;
    for (;;) {
      const choice = chooseRegion(asked, this.#deps.home, this.loads());
      if (choice.region !== null) return choice.region;
      const settled = this.#deps.link.upForMs() >= settleMs || performance.now() >= end;
      if (choice.reason === 'not-installed' || settled) throw this.#unavailable(asked, choice.reason);
      await delay(pollMs);
    }
  }

  /** In how many seconds a capture that is queued now may begin, `auto`: at best; null when nobody can tell. */
  estimatedWaitSeconds(asked: 'auto' | Region): number | null {
    const loads = this.loads().filter(({ region }) => asked === 'auto' || region === asked);
    const waits = loads.flatMap((load) => estimateWaitSeconds(load) ?? []);
    return waits.length === 0 ? null : Math.min(...waits);
  }

  loads(): readonly RegionLoad[] {
    const { installed, fleet, inFlight, queued } = this.#deps;
    const waiting = queued();
    return installed.map(({ region, minRenderers }) => ({
      region,
      mayBeEmpty: minRenderers === 0,
      ...fleet.load(region),
      queued: waiting[region] ?? 0,
      inFlight: inFlight.of(region),
    }));
  }

  #unavailable(asked: 'auto' | Region, reason: 'not-installed' | 'no-renderer'): ServiceError {
    const names = this.#deps.installed.map(({ region }) => region).join(', ');
    if (reason === 'not-installed') {
      return new ServiceError(
        'REGION_UNAVAILABLE',
        `The region ${asked} is not installed here. Use one of ${names}, or auto.`,
      );
    }
    return asked === 'auto'
      ? new ServiceError('REGION_UNAVAILABLE', 'No renderer of any region is available now. Try again in a minute.')
      : new ServiceError(
          'REGION_UNAVAILABLE',
          `No renderer of the region ${asked} is available now. Try again in a minute, or use auto.`,
        );
  }
}
