"""The WSGI entry point for any production server."""

import gc
import os

from django.core.wsgi import get_wsgi_application

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "sensejudge_site.settings")

_site = get_wsgi_application()  # sets Django up, without which the next lines fail

from django.urls import get_resolver  # noqa: E402 - see above

from sensejudge_site.middleware import HeadWithoutBody, WholeBodies  # noqa: E402 - see above

application = HeadWithoutBody(WholeBodies(_site))

# All code is loaded before the first request, and not looked at again by the garbage collector,
# which stops a page for a tenth of a second where it looks at everything.
_ = get_resolver().url_patterns
gc.collect()
gc.freeze()
