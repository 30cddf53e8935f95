import type { NatsSession } from '@webcapture/shared/nats/connect.ts';
import { toServiceError } from '@webcapture/shared/runtime/errors.ts';
import type { CaptureEvent } from '@webcapture/shared/api/capture-event.ts';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { RetryLaterError } from '../admission.ts';
import { type Authenticator, bearerToken } from '../auth/authenticator.ts';
import { hashKey } from '../auth/keys.ts';
import { CaptureEvents } from '../events/capture-events.ts';
import type { EventStream, EventStreams } from '../events/event-stream.ts';
import { authenticateFirst, callerOf } from '../http/request-facts.ts';
import { TokenBuckets } from '../http/token-buckets.ts';
import { eventStreamAnswer, failureAnswers, keyRefusals } from './answers.ts';
import { captureEventExample } from './capture-examples.ts';

export interface EventsDeps {
  readonly authenticator: Authenticator;
  readonly session: NatsSession;
  readonly streams: EventStreams;
  /** Aborts when this front drains. */
  readonly leaving: AbortSignal;
}

/** Maximum number of concurrent streams of one API key on one front. */
const maxStreams = 5;
/** Maximum number of concurrent streams of one account on one front. */
const maxAccountStreams = 20;

/** Rate at which an account may open streams on one front, because each stream costs NATS some requests. */
const openings = { capacity: maxAccountStreams, perSecond: 1 };

/** Interval of checks whether the key is still valid. It is also checked when it changes. */
const checkIntervalMs = 30_000;

/** What a stream sends. */
interface StreamContent {
  /** Called with each change of a capture of the account. Changes that occur before `prepare` has ended are reported too. */
  readonly onChange: (event: CaptureEvent) => void;
  /** Runs before the stream starts, when changes are already reported. */
  readonly prepare?: (() => Promise<void>) | undefined;
  /** Runs when the stream has started. */
  readonly onStart?: (() => void) | undefined;
}

/** Opens streams of server-sent events about the captures of the account of an API key. */
export class AccountStreams {
  readonly #deps: EventsDeps;
  readonly #captureEvents: CaptureEvents;
  readonly #opened = new TokenBuckets(openings);

  constructor(deps: EventsDeps) {
    this.#deps = deps;
    this.#captureEvents = new CaptureEvents(deps.session, deps.leaving);
  }

  /** Returns the hook that must run first on a route whose handler calls {@link open}. */
  authenticate(): ReturnType<typeof authenticateFirst> {
    return authenticateFirst(this.#deps.authenticator, 'read');
  }

  /**
   * Answers a request with a stream, which ends with an error when the key becomes invalid, or when changes may have been missed.
   *
   * @throws RetryLaterError RATE_LIMIT_EXCEEDED; ServiceError INTERNAL_ERROR
   */
  async open(
    request: FastifyRequest,
    reply: FastifyReply,
    contentOf: (stream: EventStream) => StreamContent,
  ): Promise<FastifyReply> {
    const { authenticator, streams } = this.#deps;
    const captureEvents = this.#captureEvents;
    const opened = this.#opened;
    const { key, account } = callerOf(request);
    const { authorization } = request.headers;
    if (opened.level(account.id) < 1) {
      throw new RetryLaterError(
        'RATE_LIMIT_EXCEEDED',
        'The account opens too many event streams. Retry after the number of seconds in the Retry-After header.',
        opened.secondsUntil(account.id, 1),
      );
    }
    const stream = streams.reserve(request, reply, {
      kind: 'captures',
      holders: [
        { kind: 'API key', id: key.id, max: maxStreams },
        { kind: 'account', id: account.id, max: maxAccountStreams },
      ],
    });
    opened.spend(account.id, 1);
    const { ended } = stream;
    const content = contentOf(stream);
    try {
      const listener = { onChange: content.onChange, onLost: stream.fail.bind(stream) };
      await captureEvents.listen(account.id, listener, ended);
      await content.prepare?.();
    } catch (error) {
      stream.close();
      throw error;
    }
    const check = async () => {
      try {
        await authenticator.authenticate(authorization, 'read');
      } catch (error) {
        stream.fail(toServiceError(error));
      }
    };
    stream.start();
    content.onStart?.();
    const checks = setInterval(() => void check(), checkIntervalMs);
    ended.addEventListener('abort', () => clearInterval(checks), { once: true });
    if (ended.aborted) clearInterval(checks);
    const hash = hashKey(bearerToken(authorization) ?? '');
    captureEvents.onKeyChange({ hash, account: account.id }, () => void check(), ended);
    return reply;
  }
}

/** GET /events: changes of the captures of the key's account, in real time. */
export function eventsRoute(app: FastifyInstance, accountStreams: AccountStreams): void {
  app.get('/events', {
    exposeHeadRoute: false,
    schema: {
      operationId: 'streamEvents',
      tags: ['captures'],
      summary: 'Follow the captures of the account',
      description: `Requires the scope read. Server-sent events: an event capture after each change of a capture of the account; its data is {uuid, status, refresh}, where refresh is the state of the latest refresh, or null. After a refresh with persistence.compare, it also has changedShare. There is no replay: read GET /captures after the stream has begun. When the API key becomes invalid, or when events may have been missed, the stream ends with an event error, whose data is {code, message}; it also ends when its front shuts down. A comment is sent every 15 seconds. An API key can have at most ${maxStreams} concurrent streams on each front, and an account ${maxAccountStreams}; an account can open ${openings.capacity} at once, and then one a second. A client that does not read is disconnected.`,
      security: [{ apiKey: [] }],
      response: {
        200: eventStreamAnswer(
          'Events of the types capture and error.',
          `event: capture\ndata: ${JSON.stringify(captureEventExample)}\n\n`,
        ),
        ...failureAnswers(keyRefusals),
      },
    },
    onRequest: accountStreams.authenticate(),
    handler: (request, reply) =>
      accountStreams.open(request, reply, (stream) => ({
        onChange: (event) => stream.send('capture', JSON.stringify(event)),
      })),
  });
}
