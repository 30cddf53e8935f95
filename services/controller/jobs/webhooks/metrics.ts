import { Counter, Gauge, Histogram, type Registry } from 'prom-client';
import { webhookEvents, type WebhookEvent } from '@webcapture/shared/api/webhook.ts';

/** What came of a delivery attempt. */
const attemptOutcomes = ['delivered', 'retried', 'given_up'] as const;
export type AttemptOutcome = (typeof attemptOutcomes)[number];

/** The metrics of webhooks. */
export class WebhookMetrics {
  readonly #attempts: Counter<'event' | 'outcome'>;
  readonly #seconds: Histogram;

  /** `unavailable`: how many receivers are so. */
  constructor(registry: Registry, unavailable: () => number) {
    const registers = [registry];
    void new Gauge({
      name: 'webcapture_webhook_receivers_unavailable',
      help: 'Webhook receivers that failed to respond to several consecutive attempts and get one attempt at a time. Set by the leader.',
      registers,
      collect() {
        this.set(unavailable());
      },
    });
    this.#attempts = new Counter({
      name: 'webcapture_webhook_attempts_total',
      help: 'Webhook delivery attempts, by event and outcome: delivered, retried or given_up.',
      labelNames: ['event', 'outcome'],
      registers,
    });
    this.#seconds = new Histogram({
      name: 'webcapture_webhook_attempt_seconds',
      help: 'Duration of a webhook delivery attempt, from the DNS lookup to the response of the receiver.',
      buckets: [0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10],
      registers,
    });
    for (const event of webhookEvents) {
      for (const outcome of attemptOutcomes) this.#attempts.inc({ event, outcome }, 0);
    }
  }

  attempted(event: WebhookEvent, outcome: AttemptOutcome, seconds: number): void {
    this.#attempts.inc({ event, outcome });
    this.#seconds.observe(seconds);
  }
}
