"""The WSGI entry point for any production server."""

import os

from django.core.wsgi import get_wsgi_application

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "sensejudge_site.settings")

_site = get_wsgi_application()  # sets Django up, without which the next line fails

from sensejudge_site.middleware import HeadWithoutBody, WholeBodies  # noqa: E402 - see above

application = HeadWithoutBody(WholeBodies(_site))
