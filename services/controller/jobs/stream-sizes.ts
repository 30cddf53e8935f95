import type { Registry } from 'prom-client';
import type { NatsSession } from '@webcapture/shared/nats/connect.ts';
import { streamLabels, streamNames } from '@webcapture/shared/nats/streams.ts';
import type { Term } from '../leader/election.ts';
import { gaugeOf } from '../metrics.ts';

export const streamSizesIntervalMs = 60_000;

export type StreamMetrics = ReturnType<typeof createStreamMetrics>;

export function createStreamMetrics(registry: Registry) {
  return {
    bytes: gaugeOf(registry, 'webcapture_stream_bytes', 'Size of a stream in bytes. Set by the leader.', ['stream']),
    messages: gaugeOf(
      registry,
      'webcapture_stream_messages',
      'Number of messages in a stream; those of KV_db take up to 450 B of memory each. Set by the leader.',
      ['stream'],
    ),
    maxBytes: gaugeOf(
      registry,
      'webcapture_stream_max_bytes',
      'Maximum size of a stream; absent for a stream without a limit. Set by the leader.',
      ['stream'],
    ),
    allBytes: gaugeOf(
      registry,
      'webcapture_jetstream_bytes',
      'Size of all streams of the NATS account in bytes, including replicas. Set by the leader.',
      ['storage'],
    ),
    allMaxBytes: gaugeOf(
      registry,
      'webcapture_jetstream_max_bytes',
      'Maximum size of all streams of the NATS account; absent without a limit. Set by the leader.',
      ['storage'],
    ),
  };
}

/** Sets the size metrics of each stream and of all together. Throws the server's error when it does not answer. */
export async function measureStreams(
  { session, streamMetrics }: { readonly session: NatsSession; readonly streamMetrics: StreamMetrics },
  term: Term,
): Promise<void> {
  for (const [key, stream] of Object.entries(streamLabels)) {
    const { state, config } = await session.jsm.streams.info(streamNames[key as keyof typeof streamNames]);
    // Only the leader shows the sizes, because those of two controllers would differ.
    if (!term.holds()) return forgetStreams(streamMetrics);
    streamMetrics.bytes.set({ stream }, state.bytes);
    streamMetrics.messages.set({ stream }, state.messages);
    if (config.max_bytes > 0) streamMetrics.maxBytes.set({ stream }, config.max_bytes);
    else streamMetrics.maxBytes.remove({ stream });
  }
  // All streams use file storage.
  const { storage, limits } = await session.jsm.getAccountInfo();
  if (!term.holds()) return forgetStreams(streamMetrics);
  streamMetrics.allBytes.set({ storage: 'file' }, storage);
  if (limits.max_storage > 0) streamMetrics.allMaxBytes.set({ storage: 'file' }, limits.max_storage);
  else streamMetrics.allMaxBytes.remove({ storage: 'file' });
}

export function forgetStreams(metrics: StreamMetrics): void {
  for (const gauge of Object.values(metrics)) gauge.reset();
}
