import { Counter, Gauge, Histogram, type Registry } from 'prom-client';
import { webhookEvents, type WebhookEvent } from '@webcapture/shared/contract/webhook.ts';

/** What came of a try: told, to be tried again, or not to be tried any more. */
const tryOutcomes = ['delivered', 'retried', 'given_up'] as const;
export type TryOutcome = (typeof tryOutcomes)[number];

/** The metrics of webhooks. */
export class WebhookMetrics {
  readonly #attempts: Counter<'event' | 'outcome'>;
  readonly #seconds: Histogram;

  /** `unavailable`: how many receivers are so. */
  constructor(registry: Registry, unavailable: () => number) {
    const registers = [registry];
    void new Gauge({
      name: 'webcapture_webhook_receivers_unavailable',
      help: 'Receivers of webhooks that did not answer several times in a row and are tried one at a time; of the leader.',
      registers,
      collect() {
        this.set(unavailable());
      },
    });
    this.#attempts = new Counter({
      name: 'webcapture_webhook_attempts_total',
      help: 'Tries to deliver a notice, by what came of them.',
      labelNames: ['event', 'outcome'],
      registers,
    });
    this.#seconds = new Histogram({
      name: 'webcapture_webhook_attempt_seconds',
      help: 'Time of a try, from the name to the answer of the receiver.',
      buckets: [0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10],
      registers,
    });
    for (const event of webhookEvents) {
      for (const outcome of tryOutcomes) this.#attempts.inc({ event, outcome }, 0);
    }
  }

  tried(event: WebhookEvent, outcome: TryOutcome, seconds: number): void {
    this.#attempts.inc({ event, outcome });
    this.#seconds.observe(seconds);
  }
}
