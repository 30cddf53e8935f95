import type { CaptureProgress } from '@webcapture/shared/api/capture-event.ts';
import { type CaptureRecord, type Login, toError } from '@webcapture/shared/captures/capture-record.ts';
import type { CaptureRequest } from '@webcapture/shared/api/capture-request.ts';
import { secretOptionNames } from '@webcapture/shared/api/option-table.ts';
import { withoutValues } from '@webcapture/shared/api/steps.ts';
import { ServiceError } from '@webcapture/shared/runtime/errors.ts';
import type { Account } from '@webcapture/shared/accounts/accounts.ts';
import type { Statistics } from '@webcapture/shared/statistics/statistics.ts';
import { reservationMs } from '@webcapture/shared/captures/times.ts';
import { isOpen } from '@webcapture/shared/captures/transitions.ts';
import { timeOfUuid } from '@webcapture/shared/captures/uuid.ts';
import { wantsExtracted } from '@webcapture/shared/files/extracted-file.ts';
import { withRetryAfter, type Admission, type Reservation } from '../admission.ts';
import type { Authenticator, Caller } from '../auth/authenticator.ts';
import type { RequestFacts } from '../http/request-facts.ts';
import { type Idempotency, type IdempotencyLease, LeaseLostError, readIdempotencyKey } from '../idempotency/lease.ts';
import type { ResponseCache } from './response-cache.ts';
import {
  acceptRequest,
  type AcceptDeps,
  type AcceptedRequest,
  assertPermitted,
  bytesAddedBy,
} from './accept-request.ts';
import {
  answerOfEnd,
  awaitedAnswer,
  keyedCapture,
  queuedAnswer,
  replayedAnswer,
  type AnswerOptions,
  type CaptureAnswer,
} from './answer.ts';
import type { AwaitedResult } from './await-end.ts';
import type { BackgroundQueue } from './background-queue.ts';
import { canonical, sha256 } from './cache-key.ts';
import type { ReadStateDeps } from './capture-state.ts';
import type { Dispatch, Dispatcher } from './dispatcher.ts';
import { type ExtractedDeps, withExtracted } from './extracted.ts';
import { omitDefaults } from './omit-defaults.ts';
import type { RegionSelector } from './regions.ts';
import { assertSession, type FindSessionDeps } from '../sessions/find-session.ts';

export interface CapturePipelineDeps extends AcceptDeps, ReadStateDeps, ExtractedDeps, FindSessionDeps {
  readonly cdnUrl: string;
  readonly authenticator: Authenticator;
  readonly responseCache: ResponseCache;
  readonly idempotency: Idempotency;
  readonly admission: Admission;
  readonly dispatcher: Dispatcher;
  readonly backgroundQueue: BackgroundQueue;
  readonly regions: RegionSelector;
  readonly statistics: Statistics;
}

/** A request for a capture that satisfies the schema. */
export interface CaptureCall {
  readonly body: CaptureRequest;
  /** The Authorization header. */
  readonly authorization: string | undefined;
  /** The sender, if it was authenticated without the Authorization header. */
  readonly caller?: Caller;
  /** All Idempotency-Key headers, as received. */
  readonly idempotencyKeys: readonly string[];
  readonly clientGone: AbortSignal;
  /** If set, the capture logs in for a new session. */
  readonly login?: Login;
  /** Called with each progress event of a capture that this request renders. */
  readonly onProgress?: (progress: CaptureProgress) => void;
}

/** A valid request whose sender is not authenticated yet. */
interface Validated {
  readonly accepted: AcceptedRequest;
  readonly idempotencyKey: ReturnType<typeof readIdempotencyKey>;
  /** A cached capture that may answer the request. */
  readonly candidate: CaptureRecord | null;
}

/** A valid and authenticated request without an earlier response. */
interface Order {
  readonly accepted: AcceptedRequest;
  readonly account: Account;
  /** Id of the API key. */
  readonly key: string;
  /** A cached capture that may answer the request. */
  readonly candidate: CaptureRecord | null;
  readonly lease: IdempotencyLease;
  readonly view: AnswerOptions;
}

/**
 * Processes a capture request from validation to response, in the order that the API specifies. Writes facts about the request into
 * `facts`, even if the request fails.
 */
export class CapturePipeline {
  readonly #deps: CapturePipelineDeps;

  constructor(deps: CapturePipelineDeps) {
    this.#deps = deps;
  }

  /** Validates a request of an account without capturing it. Throws as {@link acceptRequest}, {@link assertPermitted} and {@link assertSession}. */
  async check(body: CaptureRequest, account: Account): Promise<void> {
    const { options } = acceptRequest(omitDefaults(body), this.#deps);
    assertPermitted(options, account, this.#deps.limits);
    await assertSession(options, account.id, this.#deps);
  }

  /**
   * Returns null if the client has disconnected.
   *
   * @throws ServiceError the refusal of a step, or the failure of the capture
   */
  async capture(given: CaptureCall, facts: RequestFacts): Promise<CaptureAnswer | null> {
    const call = { ...given, body: omitDefaults(given.body) };
    const answer = await this.#answer(call, facts);
    if (answer === null || !wantsExtracted(call.body) || facts.account === undefined) return answer;
    return withExtracted(answer, facts.account, this.#deps);
  }

  async #answer(call: CaptureCall, facts: RequestFacts): Promise<CaptureAnswer | null> {
    const { responseCache, authenticator } = this.#deps;
    const { body, authorization } = call;

    // Validate.
    const accepted = { ...acceptRequest(body, this.#deps), login: call.login };
    const idempotencyKey = readIdempotencyKey(call.idempotencyKeys);

    // Look up the cache. The candidate is not disclosed before the API key has been checked.
    const candidate = await responseCache.candidate(call, accepted.cacheKey);

    // Authenticate.
    const caller = call.caller ?? (await authenticator.authenticate(authorization, 'capture', 'UNAUTHORIZED'));
    const { account } = caller;
    facts.account = account.id;
    assertPermitted(accepted.options, account, this.#deps.limits);
    return facts.trace.run(() => this.#answerFor(caller, { accepted, idempotencyKey, candidate }, call, facts));
  }

  /** Answers a valid and authenticated request. */
  async #answerFor(
    caller: Caller,
    { accepted, idempotencyKey, candidate }: Validated,
    call: CaptureCall,
    facts: RequestFacts,
  ): Promise<CaptureAnswer | null> {
    const { idempotency, cdnUrl, now } = this.#deps;
    const { body, clientGone } = call;
    const { account } = caller;
    facts.trace.set(attributesOf(accepted));

    // Idempotency: return the response of an earlier request, or get the lease.
    const view = { wantsFile: body.responseType === 'file', cdnUrl, startedAt: facts.startedAt, now };
    const wanted = {
      account: account.id,
      key: idempotencyKey,
      hashBody: () => {
        const login = call.login === undefined ? {} : { login: call.login };
        return sha256(canonical({ ...withoutSecrets(body, accepted, this.#deps), ...login }));
      },
      clientGone,
      wait: facts.wait,
    };
    const turn = await idempotency.acquire(wanted, keyedCapture(account.id, view, this.#deps));
    if (turn.kind === 'client-gone') return null;
    if (turn.kind === 'answered') {
      facts.record = turn.answer;
      return replayedAnswer(account.id, turn.answer, this.#deps);
    }

    const { lease } = turn;
    const order = { accepted, account, key: caller.key.id, candidate, lease, view };
    try {
      await assertSession(accepted.options, account.id, this.#deps);
      const isBackground = accepted.priority === 'background';
      const answer = isBackground ? await this.#enqueue(order, facts) : await this.#render(order, call, facts);
      await lease.complete(answer);
      return answer;
    } catch (error) {
      // Another request has taken over the Idempotency-Key.
      if (error instanceof LeaseLostError) return await this.#answer(call, facts);
      await lease.release();
      throw error;
    } finally {
      lease.close();
    }
  }

  /** Waits for the capture of an equal request, or renders one. Returns null if the client has disconnected. */
  async #render(
    order: Order,
    { clientGone, onProgress }: CaptureCall,
    facts: RequestFacts,
  ): Promise<CaptureAnswer | null> {
    const { responseCache, admission, dispatcher, secretsKeys, statistics, now } = this.#deps;
    const { accepted, account, key, candidate, lease, view } = order;
    const { cacheKey, tokenCost: tokens } = accepted;
    const { wantsFile } = view;

    // Cache: use an existing capture or one in progress, or render this one for all equal requests.
    const equal = { account: account.id, key: cacheKey, candidate, wantsFile, clientGone, wait: facts.wait };
    const turn = await responseCache.acquire(equal);
    if (turn.kind === 'client-gone' || (turn.kind === 'found' && clientGone.aborted)) return null;
    facts.trace.set({ 'webcapture.cache': turn.kind === 'found' ? 'hit' : 'miss' });
    if (turn.kind === 'found') {
      facts.record = turn.record;
      statistics.hit(account.id, key);
      return answerOfEnd({ record: assertCompleted(turn.record), bytes: null, fromCache: true }, view);
    }

    const cacheLease = turn.lease;
    let reservation: Reservation | undefined;
    let dispatch: Dispatch | undefined;
    let record: CaptureRecord | undefined;
    let end: AwaitedResult | undefined;
    try {
      // Admit: only rendered captures count against the limits.
      const uuid = await lease.renew({ uuid: cacheLease?.uuid });
      const until = dispatcher.deadlineOf(accepted, timeOfUuid(uuid) ?? now());
      const adds = bytesAddedBy(accepted);
      const reserve = { id: uuid, tokens, priority: 'interactive', until, adds, waitSeconds: null } as const;
      reservation = await admission.admit(account, reserve, facts);

      // Dispatch. If the front dies before the capture is named, no other request waits for it.
      const { id, isolation } = account;
      const options = {
        uuid,
        account: id,
        key,
        isolation,
        wantsBytes: wantsFile,
        cacheKey: cacheLease?.key,
        secretsKeys,
        onProgress,
      };
      dispatch = await dispatcher.prepare(accepted, options);
      const lastsMs = dispatcher.deadlineOf(accepted, 0);
      await lease.renew({ uuid, lastsMs });
      record = dispatch.record;
      facts.record = record;
      const waiter = await dispatch.publish();
      cacheLease?.extend(lastsMs);

      // Await.
      end = await facts.wait.during(waiter.wait(clientGone));
      record = end.record;
    } finally {
      dispatch?.close(end);
      await reservation?.release(record);
      // If the client disconnects during rendering, the renderer completes the capture.
      const isForOthers = end !== undefined && (isOpen(end.record) || end.record.status === 'completed');
      if (!isForOthers) cacheLease?.release();
    }

    // Respond.
    if (clientGone.aborted) return null;
    return awaitedAnswer({ record: assertCompleted(end.record), bytes: end.bytes }, view);
  }

  /**
   * Queues the capture and responds immediately. It does not share a rendering with equal requests, because a waiting
   * client must not wait for the background queue.
   */
  async #enqueue(order: Order, facts: RequestFacts): Promise<CaptureAnswer> {
    const { responseCache, admission, backgroundQueue, regions, secretsKeys, statistics, now } = this.#deps;
    const { accepted, account, key, candidate, lease, view } = order;

    // Cache: use an existing capture.
    const hit = responseCache.hit(candidate, account.id);
    facts.trace.set({ 'webcapture.cache': hit === null ? 'miss' : 'hit' });
    if (hit !== null) {
      facts.record = hit;
      statistics.hit(account.id, key);
      return answerOfEnd({ record: hit, bytes: null, fromCache: true }, view);
    }

    // Admit.
    const uuid = await lease.renew();
    const waitSeconds = regions.estimatedWaitSeconds(accepted.region);
    const { tokenCost: tokens, priority } = accepted;
    const adds = bytesAddedBy(accepted);
    const reserve = { id: uuid, tokens, priority, until: now() + reservationMs, adds, waitSeconds };
    const reservation = await admission.admit(account, reserve, facts);

    // Dispatch, and respond.
    try {
      const { id, isolation } = account;
      const capture = { uuid, account: id, key, isolation, cacheKey: accepted.cacheKey, secretsKeys };
      const record = await backgroundQueue.enqueue(accepted, capture);
      facts.record = record;
      return queuedAnswer(record, view, regions.estimatedWaitSeconds(record.region));
    } catch (error) {
      throw withRetryAfter(error, waitSeconds);
    } finally {
      await reservation.release();
    }
  }
}

/** Returns the attributes of a request's span. Of the address of the page, only the host is recorded. */
function attributesOf({ options, priority, source }: AcceptedRequest) {
  const host = source.kind === 'url' ? URL.parse(source.url)?.hostname : undefined;
  return {
    'webcapture.format': options.format,
    'webcapture.priority': priority,
    ...(host === undefined ? {} : { 'webcapture.page.host': host }),
  };
}

/**
 * Returns the body without its secrets. The hash of the result is stored and compared with the hashes of other bodies. Each secret is
 * replaced by a keyed hash, or by its name if no key is configured.
 */
export function withoutSecrets(
  body: CaptureRequest,
  { options, secretsHash }: AcceptedRequest,
  { secretsKeys }: AcceptDeps,
): object {
  if (secretsHash === undefined) return body;
  // Without a configured key, each front uses a random one, so its hashes are not comparable.
  const comparable = secretsKeys === undefined ? options.secrets : secretsHash;
  const { pdf, steps } = body;
  return {
    ...body,
    ...Object.fromEntries(secretOptionNames.map((name) => [name, undefined])),
    ...(pdf?.encryption === undefined ? {} : { pdf: { ...pdf, encryption: undefined } }),
    ...(steps === undefined ? {} : { steps: withoutValues(steps) }),
    secrets: comparable,
  };
}

/** @throws ServiceError the failure of a failed capture */
function assertCompleted(record: CaptureRecord): CaptureRecord {
  const { failure, status, outcome } = record;
  if (failure !== undefined) throw toError(failure);
  if (status === 'deleted' && outcome === undefined) {
    throw new ServiceError('CAPTURE_FAILED', 'The capture was deleted while it waited for a renderer.', {
      causedBy: 'client',
    });
  }
  return record;
}
