import type { RefreshOrder } from '@webcapture/shared/captures/transitions.ts';

/** A day in milliseconds. All times in this file are in milliseconds. */
export const hour = 3_600_000;
export const day = 24 * hour;

/** A refresh that a client requests at `acceptedAt`, with a day to start and a minute to render. */
export const orderOf = (revision: number, acceptedAt = Date.now()): RefreshOrder => ({
  revision,
  by: 'request',
  region: 'us-east',
  acceptedAt,
  startBy: acceptedAt + day,
  deadline: acceptedAt + day + 60_000,
});
