import type { CallToolResult } from '@modelcontextprotocol/server';
import { type CaptureRequest, captureRequestSchema } from '@webcapture/shared/api/capture-request.ts';
import type { CaptureState } from '@webcapture/shared/api/capture.ts';
import { maxModelPixels, type McpToolName, mcpTools, type CaptureFacts } from '@webcapture/shared/api/mcp-tools.ts';
import type { CaptureRecord } from '@webcapture/shared/captures/capture-record.ts';
import { captureView } from '@webcapture/shared/captures/view.ts';
import { retryIfReplaced } from '@webcapture/shared/files/file-store.ts';
import { ServiceError, toServiceError } from '@webcapture/shared/runtime/errors.ts';
import type { FastifyBaseLogger } from 'fastify';
import { countCapture, type CaptureCallDeps } from '../../api/capture.ts';
import type { Authenticator } from '../../auth/authenticator.ts';
import { type ReadStateDeps, readState } from '../../capture/capture-state.ts';
import { fillInDevice } from '../../capture/visitor-rules.ts';
import type { RequestFacts } from '../../http/request-facts.ts';
import type { ScaledPictures, WantedPicture } from '../thumbnails/scaled-pictures.ts';
import { overlayStatus, type StatusView } from '../../status-cache.ts';
import { captureText, errorText, extractedText } from './texts.ts';

export interface McpToolsDeps extends ReadStateDeps, CaptureCallDeps {
  readonly cdnUrl: string;
  readonly authenticator: Authenticator;
  readonly pictures: ScaledPictures;
  readonly status: { readonly view: () => StatusView };
}

/** One call of a tool, and data of its HTTP request. */
export interface ToolCall {
  readonly authorization: string | undefined;
  readonly facts: RequestFacts;
  readonly clientGone: AbortSignal;
  /** Fills in defaults. Throws a ServiceError VALIDATION_ERROR. */
  readonly validate: (schema: object, value: unknown) => void;
  readonly log: FastifyBaseLogger;
}

type Arguments = Readonly<Record<string, unknown>>;
type Content = CallToolResult['content'][number];

/** Minimum scale, in pixels for each CSS pixel, at which text of a usual size is readable: 1280 becomes 784. */
const readableScale = 0.6125;

/** Width in CSS pixels below which pictures are not scaled, because pages for phones are already narrow. */
const narrowCssPixels = 392;

/** Returns the largest part of a picture, from its top, that stays readable within the pixel limit of models. */
function forModels({ width }: { readonly width: number }, { options }: CaptureRecord): WantedPicture {
  const cssWidth = width / options.viewport.deviceScaleFactor;
  const readableWidth = Math.max(cssWidth * readableScale, Math.min(cssWidth, narrowCssPixels));
  const maxAspect = maxModelPixels / readableWidth;
  return { maxWidth: maxModelPixels, maxHeight: maxModelPixels, maxAspect, type: 'jpeg' };
}

/** Calls a tool. Errors are returned as results of the call, which a model can react to, and not as protocol errors. */
export async function callTool(
  name: McpToolName,
  args: Arguments,
  call: ToolCall,
  deps: McpToolsDeps,
): Promise<CallToolResult> {
  try {
    const given = structuredClone(args);
    const schema = mcpTools.find((tool) => tool.name === name)?.inputSchema ?? {};
    call.validate(schema, given);
    return await tools[name](args, given, call, deps);
  } catch (thrown) {
    const error = toServiceError(thrown);
    call.facts.code = error.code;
    if (error.cause !== undefined) call.log.error({ err: error, tool: name, code: error.code }, 'a tool call failed');
    return { content: [text(errorText(error))], isError: true };
  }
}

/** The result of a tool: text and pictures for the model, and facts for programs. The facts are missing if the client has disconnected. */
type ToolResult = Pick<CallToolResult, 'content' | 'structuredContent'>;

/** `args` contains the arguments as sent, `filled` those with the defaults of the tool. */
type Tool = (args: Arguments, filled: Arguments, call: ToolCall, deps: McpToolsDeps) => Promise<ToolResult>;

const tools: Readonly<Record<McpToolName, Tool>> = {
  async capture_page(args, _filled, call, deps) {
    return capture(args, call, deps, async (state, record) => [
      text(captureText(state)),
      ...(record === undefined ? [] : await pictureOf(record, call, deps)),
    ]);
  },

  async extract_page({ links: _links, maxCharacters: _most, ...page }, { links, maxCharacters }, call, deps) {
    const parts = links === true ? ['markdown', 'links'] : ['markdown'];
    const wanted = page['extractFields'] === undefined ? { extract: parts } : {};
    const body = { ...page, ...wanted, format: 'none' };
    return capture(body, call, deps, async (state) => [
      text(captureText(state)),
      text(extractedText('extracted' in state ? state.extracted : null, Number(maxCharacters))),
    ]);
  },

  async capture_pdf(args, _filled, call, deps) {
    return capture({ ...args, format: 'pdf' }, call, deps, async (state) => [text(captureText(state))]);
  },

  async get_capture({ uuid }, { includeImage }, call, deps) {
    const { authorization, facts } = call;
    const { account } = await deps.authenticator.authenticate(authorization, 'read');
    const record = await readState(deps, account.id, String(uuid));
    facts.account = account.id;
    facts.record = record;
    const view = captureView(record, { cdnUrl: deps.cdnUrl, now: deps.now() });
    const picture = includeImage === true ? await pictureOf(record, call, deps) : [];
    return { content: [text(captureText(view)), ...picture], structuredContent: factsOf(view) };
  },

  async list_regions(_args, _filled, _call, { status }) {
    const prefix = 'engine.';
    const { components = [] } = overlayStatus(status.view());
    const regions = components
      .filter(({ name }) => name.startsWith(prefix))
      .map(({ name, status: state, message }) => ({
        name: name.slice(prefix.length),
        status: state,
        ...(message === undefined ? {} : { message }),
      }));
    const lines = regions.map((region) => {
      const note = 'message' in region ? ` (${region.message})` : '';
      return `- ${region.name}: ${region.status}${note}`;
    });
    const words = ['Regions (the option region; auto chooses one):', ...lines].join('\n');
    return { content: [text(words)], structuredContent: { regions } };
  },
};

const text = (words: string): Content => ({ type: 'text', text: words });

/** Sends a body through the pipeline of POST /capture. */
async function capture(
  given: Arguments,
  { authorization, facts, clientGone, validate }: ToolCall,
  deps: McpToolsDeps,
  use: (state: CaptureState, record: CaptureRecord | undefined) => Promise<Content[]>,
): Promise<ToolResult> {
  const body: Record<string, unknown> = structuredClone(given);
  fillInDevice(body);
  validate(captureRequestSchema, body);
  const request = { body: body as unknown as CaptureRequest, authorization, idempotencyKeys: [], clientGone };
  const { pipeline } = deps;
  return countCapture(
    request,
    facts,
    deps,
    () => pipeline.capture(request, facts),
    async (answer) => {
      // The client has disconnected.
      if (answer === null || answer.data === null) return { content: [] };
      return { content: await use(answer.data, answer.record), structuredContent: factsOf(answer.data) };
    },
  );
}

/** Returns the picture of a capture and a text that says how much of it is shown, or a text that says why there is none. */
async function pictureOf(
  record: CaptureRecord,
  { clientGone }: ToolCall,
  { pictures }: McpToolsDeps,
): Promise<Content[]> {
  try {
    return await retryIfReplaced(async () => {
      const file = await pictures.fileOf(record);
      const { picture, shown } = await pictures.scale(file, forModels(file, record), {
        account: record.account,
        clientGone,
      });
      const size = `${shown.width} × ${shown.height} px`;
      const isCut = shown.shownHeight < file.height;
      const isScaled = shown.width < file.width;
      const words = isCut
        ? `The image shows the top ${shown.shownHeight} of ${file.height} px of the page, at ${size}. Capture parts of it with selector, or read it with extract_page.`
        : isScaled
          ? `The image is scaled down to ${size}.`
          : `The image has its full size, ${size}.`;
      return [text(words), { type: 'image', data: picture.toString('base64'), mimeType: 'image/jpeg' }];
    });
  } catch (thrown) {
    // The client has disconnected.
    if (clientGone.aborted) return [];
    if (!(thrown instanceof ServiceError)) throw thrown;
    return [text(`The image cannot be shown here: ${thrown.message}`)];
  }
}

/** Returns the facts of a capture that the service itself knows, for programs. They contain no text of the page or its server. */
function factsOf(state: CaptureState): CaptureFacts {
  const { uuid, status } = state;
  if (!('report' in state)) {
    return {
      uuid,
      status,
      ...('fileUrl' in state ? { fileUrl: state.fileUrl } : {}),
      ...('error' in state ? { errorCode: state.error.code } : {}),
    };
  }
  const { fileUrl, fileSizeBytes, tokenCost, region, report } = state;
  const { format, mimeType, width, height, pages, expiresAt } = state.metadata;
  return {
    uuid,
    status,
    fileUrl,
    mimeType,
    ...(format === 'none' ? {} : { width, height }),
    ...(pages === undefined ? {} : { pages }),
    fileSizeBytes,
    expiresAt,
    region,
    tokenCost,
    httpStatus: report.httpStatus,
  };
}
