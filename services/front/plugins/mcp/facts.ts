import type { CaptureState } from '@webcapture/shared/api/capture.ts';
import type { CaptureFacts } from '@webcapture/shared/api/mcp-tools.ts';

/** Returns the facts of a capture that the service itself knows, for programs. They contain no text of the page or its server. */
export function factsOf(state: CaptureState): CaptureFacts {
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
  const { mimeType, width, height, pages, expiresAt } = state.metadata;
  return {
    uuid,
    status,
    fileUrl,
    mimeType,
    width,
    height,
    ...(pages === undefined ? {} : { pages }),
    fileSizeBytes,
    expiresAt,
    region,
    tokenCost,
    httpStatus: report.httpStatus,
  };
}
