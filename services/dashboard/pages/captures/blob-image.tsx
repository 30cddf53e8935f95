import { useEffect, useState } from 'preact/hooks';

/** A picture that is in memory. */
export function BlobImage({
  blob,
  alt,
  width,
  height,
}: {
  readonly blob: Blob;
  readonly alt: string;
  readonly width?: number;
  readonly height?: number;
}) {
  const [url, setUrl] = useState<string>();
  useEffect(() => {
    const made = URL.createObjectURL(blob);
    setUrl(made);
    return () => URL.revokeObjectURL(made);
  }, [blob]);
  return url === undefined ? null : <img src={url} alt={alt} width={width} height={height} decoding="async" />;
}
