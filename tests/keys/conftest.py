"""The browser that pages of keys are opened in."""

from tests.explorer.conftest import browser as browser
from tests.explorer.conftest import open_page as open_page
