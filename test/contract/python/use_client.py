"""Uses the client that openapi-python-client generates from the OpenAPI document: use_client.py URL API_KEY"""

import hashlib
import json
import sys

from webcapture_client import AuthenticatedClient
from webcapture_client.api.captures import create_capture, get_capture
from webcapture_client.api.files import get_file
from webcapture_client.api.status import get_status
from webcapture_client.models import CaptureRequest, CaptureRequestFormat

url, api_key = sys.argv[1:]
client = AuthenticatedClient(base_url=url, token=api_key)

status = get_status.sync(client=client)
webp = CaptureRequest(url="https://example.com/", format_=CaptureRequestFormat.WEBP)
created = create_capture.sync(client=client, body=webp)
read = get_capture.sync(created.data.uuid, client=client)
file = get_file.sync(created.data.file_url.rsplit("/", 1)[1], client=client)
refused = create_capture.sync(client=client, body=CaptureRequest(url="nowhere"))

print(json.dumps([status.last_checked_at is not None, read.data.metadata.format_, refused.error.code]))
print(hashlib.sha256(file.payload.read()).hexdigest())
