import { useEffect, useState } from 'preact/hooks';

/** The address of what is in memory, for as long as the component is shown; undefined until the first drawing is over. */
export function useObjectUrl(blob: Blob | undefined): string | undefined {
  const [url, setUrl] = useState<string>();
  useEffect(() => {
    const made = blob === undefined ? undefined : URL.createObjectURL(blob);
    setUrl(made);
    return made === undefined ? undefined : () => URL.revokeObjectURL(made);
  }, [blob]);
  return url;
}

/** A picture that is in memory. */
export function BlobImage({ blob, alt }: { readonly blob: Blob; readonly alt: string }) {
  const url = useObjectUrl(blob);
  return url === undefined ? null : <img src={url} alt={alt} decoding="async" />;
}
