import { Counter, Histogram, type Registry } from 'prom-client';

const pictureResults = ['scaled', 'cached', 'unreadable', 'refused', 'failed'] as const;

export interface ScaledPictureMetrics {
  /** Counts a requested scaled picture; `ms`: duration of the scaling. */
  picture(result: (typeof pictureResults)[number], ms?: number): void;
}

/** Counts scaled pictures: thumbnails, and those for agents. */
export function createScaledPictureMetrics(registry: Registry): ScaledPictureMetrics {
  const registers = [registry];
  const pictures = new Counter({
    name: 'webcapture_front_pictures_total',
    help: 'Requested thumbnails and pictures for agents, by result: scaled, cached (from memory), unreadable (the file is not a picture that can be decoded within its limits), refused (too many at once), failed (no file, or no process to scale it). Concurrent requests for the same picture count once; abandoned requests do not count.',
    labelNames: ['result'],
    registers,
  });
  for (const result of pictureResults) pictures.inc({ result }, 0);
  const seconds = new Histogram({
    name: 'webcapture_front_picture_scaling_seconds',
    help: 'Duration of scaling one picture, including the start of its process and reading the file.',
    buckets: [0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 20],
    registers,
  });
  return {
    picture(result, ms) {
      pictures.inc({ result });
      if (ms !== undefined) seconds.observe(ms / 1000);
    },
  };
}
